"""The operator grid: which attributes and shapes are tried for each operator.

Shapes are small and mostly odd, so that no size divides a vector or a tile.
grid_case.py builds a case, op_grid.py runs it.
"""

from grid_composed import (attentions, conditions, further_reductions, rearrangements,
                           sample_normalizations)
from grid_elements import branches, elements, largest, sequences
from grid_layers import (convolutions, fused_activations, initial_values,
                         normalizations, poolings, products, shared_weights,
                         softmaxes_and_losses)
from grid_movements import (elementwise, further_elementwise, further_movements,
                            movements, reductions)

from grid_recurrent import recurrent_layers
from grid_tokens import embeddings, integers
from grid_windows import (further_convolutions, further_poolings, resizes,
                          sums_of_products, transposed_convolutions)

GROUPS = (convolutions, products, normalizations, poolings, reductions,
          elementwise, further_elementwise, movements, further_movements,
          softmaxes_and_losses,
          further_convolutions, transposed_convolutions, further_poolings, resizes,
          sums_of_products, recurrent_layers, sample_normalizations, attentions, further_reductions, rearrangements,
          conditions,
          embeddings, integers, elements, largest, branches, sequences,
          fused_activations, initial_values, shared_weights)


def all_cases():
    """(group name, ModelProto) of every case; the model's name is its own."""
    for group in GROUPS:
        for model in group():
            yield group.__name__, model
