"""The gradients of the systems by heed.train.gradients and by PyTorch's backward().

A file of gradients has the upstream gradient of each result, and the gradient of every input and weight.
"""

import numpy as np

import heed
from case import Case
from pytorch import torch
from systems import SYSTEMS, distance


def in_heed(device, path, **options):
    """The results of one file, its gradients by name, and the case."""
    case = Case(path, **options)
    g = heed.Graph()
    results = {name: tensor for name, tensor in SYSTEMS[case.system][1](case, g).items() if name in case}
    upstream = [(results[name], case.feed(g, "gradient of " + name, results[name].shape, array))
                for name, array in case.upstream.items()]
    # A weight that the system does not use is a leaf on which nothing depends.
    of = [case.inputs[name] if name in case.inputs else g.weight(name, a.shape) for name, a in case.gradients.items()]
    for name, tensor in results.items():
        g.output(name, tensor)
    for name, tensor in zip(case.gradients, heed.train.gradients(upstream, of)):
        g.output("gradient of " + name, tensor)
    weights = device.upload(case.weights) if case.weights else None
    found = device.compile(g, weights).run(case.fed)
    return {name: found[name] for name in results}, {name: found["gradient of " + name] for name in case.gradients}, case


def in_pytorch(path):
    """The same in PyTorch."""
    case = Case(path)
    results = {name: tensor for name, tensor in SYSTEMS[case.system][0](case).items() if name in case}
    sum((results[name] * torch.from_numpy(array)).sum() for name, array in case.upstream.items()).backward()
    found = {}
    for name, array in case.gradients.items():
        leaf = case.leaves.get(name)  # nothing depends on unused weights
        found[name] = np.zeros_like(array) if leaf is None or leaf.grad is None else leaf.grad.numpy()
    return {name: tensor.detach().numpy() for name, tensor in results.items()}, found


WAYS = ({}, {"extents": True})


def problems_of(path, device, ways=WAYS):
    """Errors of heed's gradients for a file on a device, and their largest differences from the stored ones and from PyTorch's. A
    file is run twice: with fixed sizes, and with extents."""
    problems, worst, beside = [], 0.0, 0.0
    torch_results, torch_gradients = in_pytorch(path) if torch is not None else ({}, {})
    # For a query without visible keys PyTorch gives NaN, also in the gradients of its keys. heed and the files pass no gradient there.
    has_nan = any(np.isnan(a).any() for a in torch_results.values())
    for options in ways:
        results, gradients, case = in_heed(device, path, **options)
        for wanted, found in ((case.expected, results), (case.gradients, gradients)):
            for name, b in wanted.items():
                far, within = distance(found[name], b) if found[name].shape == b.shape else (np.inf, False)
                worst = max(worst, far)
                if not within:
                    problems.append(f"{name} is {far:.1e} from the stored one with {options}")
        for name, b in torch_gradients.items():
            known = ~np.isnan(b)
            if not known.all() and not has_nan:
                problems.append(f"{name} is NaN in PyTorch, and no result is")
            far, within = distance(gradients[name][known], b[known])
            beside = max(beside, far)
            if not within:
                problems.append(f"{name} is {far:.1e} from PyTorch's with {options}")
    return problems, worst, beside
