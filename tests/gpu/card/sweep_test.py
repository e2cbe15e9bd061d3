"""Tests of the summaries that sweep.py makes from rows."""
import unittest

import sweep


def row(part, work, us, variant=""):
    return {"part": part, "work": work, "us": str(us), "variant": variant}


class Rows(unittest.TestCase):
    def test_a_variant_that_is_clearly_faster(self):
        rows = [row("usual", "product", 100), row("variant", "product", 97, "a"), row("variant", "product", 90, "b"),
                row("usual", "softmax", 7), row("usual", "attention", 50), row("variant", "attention", 49, "c")]
        self.assertEqual(sweep.faster_variants(rows),
                         [("product", 100, "b", 90), ("softmax", 7, None, 7), ("attention", 50, None, 49)])

    def test_stairs(self):
        self.assertEqual(sweep.share_of_stairs([10, 10, 20, 20, 30, 30]), 1)
        self.assertEqual(sweep.share_of_stairs([10, 10, 14, 14, 28, 28]), 2)

    def test_slope(self):
        each, rest = sweep.slope([(256, 15), (512, 25), (768, 35)])
        self.assertAlmostEqual(32 * each, 1.25)
        self.assertAlmostEqual(rest, 5)

    def test_series(self):
        names = ["depth f16 66 workgroups k 256", "depth f16 66 workgroups k 512", "depth f16 264 workgroups k 256"]
        found = sweep.series([row("depth", name, 1) for name in names], "depth")
        self.assertEqual({name: len(rows) for name, rows in found.items()}, {"depth f16 66 workgroups": 2, "depth f16 264 workgroups": 1})
        stairs = sweep.series([row("stairs", f"stairs f16 {66 * i} workgroups", i) for i in (1, 2)], "stairs")
        self.assertEqual(len(stairs["stairs f16"]), 2)
        lines = sweep.series([row("lines", "lines f16 66 workgroups of " + what, 1) for what in ("rows", "one row")], "lines")
        self.assertEqual(len(lines["lines f16 66 workgroups"]), 2)


if __name__ == "__main__":
    unittest.main()
