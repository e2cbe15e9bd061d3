"""Runs six PyTorch models and their ports to heed, and the rows of the page From PyTorch, on the same random weights and inputs,
and prints how far the results are apart.

    python samples/ports/check.py                        # all, on every device of this machine
    python samples/ports/check.py --device cpu vit t5    # some, on one device

Exit code 1: a result is beyond LIMIT. 3: PyTorch is not installed.
"""

import argparse
import os
import sys

import heed

try:
    import torch
except ImportError:
    print("SKIPPED: PyTorch is not installed (Debian: python3-torch), so no port is compared with it")
    sys.exit(3)

import conv_front_end
import encoder
import encoder_decoder
import ppo
import t5
import table
import vit

# The largest |heed - PyTorch|, relative to the largest |PyTorch| of the same output.
LIMIT = 1e-5

PORTS = {name: port for module in (encoder, encoder_decoder, vit, t5, conv_front_end, ppo, table) for name, port in module.PORTS.items()}


def made(name):
    """The port, with the same random numbers each time."""
    torch.manual_seed(1)
    return PORTS[name]()


def is_right(name, port, device):
    """Prints the largest error, and each error beyond LIMIT."""
    errors = port.errors_on(device)
    wrong = {output: error for output, error in errors.items() if not error <= LIMIT}
    print(f"{'FAIL' if wrong else 'ok'} {name} on {device.info.word}: {max(errors.values()):.1e}")
    for output, error in wrong.items():
        print(f"     {output}: {error:.1e}")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description="Models of PyTorch and their ports to heed.")
    parser.add_argument("names", nargs="*", help=f"beginnings of {', '.join(PORTS)}; default: all")
    parser.add_argument("--device", help="a part of a device's name; default: every device")
    options = parser.parse_args()
    loader = os.environ.get("HEED_VULKAN_LOADER")
    words = [options.device] if options.device else [info.word for info in heed.devices(vulkan_loader=loader) if info.usable]
    devices = [heed.Device(word, vulkan_loader=loader) for word in words]
    names = [name for name in PORTS if name.startswith(tuple(options.names) or "")]
    if not names:
        sys.exit("no port has a name that begins so")
    ports = {name: made(name) for name in names}
    right = [is_right(name, port, device) for name, port in ports.items() for device in devices]
    sys.exit(0 if all(right) else 1)


if __name__ == "__main__":
    main()
