"""A port: a heed graph, and PyTorch's results for the same weights and inputs."""

from typing import Dict, Mapping, NamedTuple

import torch

import heed


class Port(NamedTuple):
    """The input of check.py.

        - graph: heed's; its inputs and outputs have the names below.
        - weights: for Device.upload, a state_dict().
        - inputs: PyTorch tensors, for each run.
        - expected: PyTorch's results."""

    graph: heed.Graph
    weights: Mapping[str, torch.Tensor]
    inputs: Dict[str, torch.Tensor]
    expected: Dict[str, torch.Tensor]

    def errors_on(self, device: heed.Device) -> Dict[str, float]:
        """The largest |heed - PyTorch| of each output, divided by the largest |PyTorch| of that output."""
        weights = device.upload(self.weights)
        plan = device.compile(self.graph, weights, strict=True)  # strict: refuses a weight that the graph does not use
        results = plan.run(self.inputs)
        return {name: relative_error(torch.from_numpy(results[name]), b) for name, b in self.expected.items()}


def relative_error(a: torch.Tensor, b: torch.Tensor) -> float:
    if a.shape != b.shape or not (a - b).isfinite().all():
        return float("inf")
    return float((a.double() - b.double()).abs().max() / b.double().abs().max())


def ready(module: torch.nn.Module) -> torch.nn.Module:
    """The module with random numbers in all weights, since norms of ones and zeros hide mistakes, and with dropout off."""
    with torch.no_grad():
        for p in module.parameters():
            p += 0.1 * torch.randn(p.shape)
    return module.eval()
