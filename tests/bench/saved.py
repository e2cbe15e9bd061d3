#!/usr/bin/env python3
"""Times the first token after loading a saved conversation, beside that of a new one with the same text, on the CPU.

    saved.py MODEL.gguf [ROUNDS]     needs the wheel of engine/python; prints medians
"""
import statistics
import sys
import time

import heed

TEXT = " ".join(["The knight asked the blacksmith about the old sword and the road to the north."] * 28)


def first_token(begin):
    """Returns a conversation that has drawn one token, and the milliseconds since before it began."""
    start = time.perf_counter()
    conversation = begin()
    next(iter(conversation.pieces()))
    return conversation, 1e3 * (time.perf_counter() - start)


def new_conversation(model):
    conversation = model.begin(system=TEXT, most_tokens=8)
    conversation.say("Who are you?")
    return conversation


def main():
    model = heed.TextGenerator(heed.Device("cpu"), sys.argv[1], context=1024)
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    times = {"new": [], "loaded": [], "loaded with keys": []}
    sizes = {}
    for _ in range(rounds):
        conversation, took = first_token(lambda: new_conversation(model))
        times["new"].append(took)
        for name, keys in (("loaded", False), ("loaded with keys", True)):
            saved = conversation.save(keys=keys)
            sizes[name] = len(saved)
            times[name].append(first_token(lambda: model.load(saved))[1])
    print(f"{len(conversation.ids)} tokens")
    for name, all_of_it in times.items():
        print(f"{name}: {statistics.median(all_of_it):.1f} ms, {sizes.get(name, 0):,} bytes")


if __name__ == "__main__":
    main()
