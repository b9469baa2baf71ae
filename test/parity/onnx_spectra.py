"""What ONNX's Fourier transforms mean, in PyTorch (onnx_ops.py has the rest)."""

import torch


def complex_of(x):
    """Of pairs, or of single real numbers, in the last dimension."""
    return torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x.squeeze(-1)


def dft(call, x, length=None, axis=None):
    if axis is None:
        axis = call.get("axis", 1) if call.opset < 20 else -2
    axis = int(axis) % x.dim()
    points = None if length is None else int(length)
    x, onesided = complex_of(x), call.get("onesided", 0)
    if call.get("inverse", 0):
        if onesided:
            return torch.fft.irfft(x, points, axis).unsqueeze(-1)
        return torch.view_as_real(torch.fft.ifft(x, points, axis).resolve_conj())
    transform = torch.fft.rfft if onesided else torch.fft.fft
    return torch.view_as_real(transform(x, points, axis))


def stft(call, signal, step, window=None, length=None):
    signal = signal.reshape(signal.shape[:2])
    length = int(length) if length is not None else (
        len(window) if window is not None else signal.shape[1])
    frames = signal.unfold(1, length, int(step))
    if window is not None:
        frames = frames * window.to(frames.dtype)
    transform = torch.fft.rfft if call.get("onesided", 1) else torch.fft.fft
    return torch.view_as_real(transform(frames))


OPS = {"DFT": dft, "STFT": stft}
