"""The operator grid: which attributes and shapes are tried for each operator.

Shapes are small and mostly odd, so that no size divides a vector or a tile.
grid_case.py builds a case, op_grid.py runs it.
"""

from grid_composed import (attentions, conditions, further_reductions, rearrangements,
                           sample_normalizations)
from grid_elements import branches, detached, elements, largest, sequences
from grid_layers import (convolutions, fused_activations, initial_values,
                         normalizations, poolings, products, shared_weights,
                         softmaxes_and_losses)
from grid_movements import (elementwise, further_elementwise, further_movements,
                            movements, reductions)
from grid_random import dropouts, noise
from grid_recurrent import recurrent_layers
from grid_spectra import spectra
from grid_tokens import embeddings, integers
from grid_windows import (folds, further_convolutions, further_poolings, grid_samples,
                          resizes, sums_of_products, transposed_convolutions)

GROUPS = (convolutions, products, normalizations, poolings, reductions,
          elementwise, dropouts, noise, further_elementwise, movements, further_movements,
          softmaxes_and_losses,
          further_convolutions, transposed_convolutions, folds, grid_samples,
          further_poolings, resizes, sums_of_products, recurrent_layers, spectra,
          sample_normalizations, attentions,
          further_reductions, rearrangements, conditions, embeddings, integers, elements,
          largest, detached, branches, sequences, fused_activations, initial_values,
          shared_weights)


# In these, what the cases name in their loops meets one of several widths, sizes and
# dilations in turn. From another turn on, it meets another one.
TURNING = (convolutions, further_convolutions, transposed_convolutions, poolings)


def all_cases(turns=1):
    """(group name, ModelProto) of every case; the model's name is its own. The cases of
    further turns come behind all others."""
    names = set()
    for turn in range(turns):
        for group in TURNING if turn else GROUPS:
            for model in group(turn) if group in TURNING else group():
                if not turn or model.graph.name not in names:
                    names.add(model.graph.name)
                    yield group.__name__, model
