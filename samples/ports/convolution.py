"""Weights of convolutions in heed's layout: channels last, as in all of its tensors."""

import torch


def channels_last(state_dict, *names):
    """A state dict in which the weights of these convolutions are [out, k, in] or [out, kh, kw, in] instead of [out, in, k...]."""
    return {**state_dict, **{f"{name}.weight": torch.movedim(state_dict[f"{name}.weight"], 1, -1) for name in names}}
