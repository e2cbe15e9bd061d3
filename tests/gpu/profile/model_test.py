"""Tests of model.py, with kernels whose times are known and with the H100's rows."""
import json
import pathlib
import unittest

import frames
import model

HERE = pathlib.Path(__file__).parent
H100 = HERE.parent / "h100"
MACHINE = {"cores": 10, "clock": 1e9, "memory": 1e12, "shared": 128, "special": 16,
           "model": {"matrix": 1024, "product": 2048, "slots": 4, "registers": 65536, "more_registers": 1, "second_cache": 1e6, "near": 200, "far": 500,
                     "barrier": 10, "launch": 1e-6, "fetched": 1000}}


def kernel(**changed):
    given = dict(groups=10, turns=0, waits=2, matrix=400, issue=600, shared=200, special=0, barriers=10, fits=4)
    return model.Kernel(**{**given, **changed})


def row(**changed):
    """A dispatch of 20 workgroups of four subgroups, each with 10 iterations of 8 matrix instructions."""
    given = dict(engine="heed", work="product", workgroups=20, invocations=128, subgroup=32, dispatches=1, bound_bytes=0,
                 registers=128, shared=0, instructions=260, multiply_adds=0, specials=0, matrix_multiply_adds=20 * 4 * 80 * 2048,
                 issues=10**9, group_barriers=40, requests=20 * 4 * 30, shared_turns=20 * 500, load_groups=2, step_instructions=60,
                 step_products=8, step_multiply_adds=0, step_length=60)
    return {name: str(value) for name, value in {**given, **changed}.items()}


class Formula(unittest.TestCase):
    def us(self, **changed):
        seconds, _ = model.seconds(kernel(**changed), MACHINE)
        return 1e6 * seconds

    def test_half_of_what_is_less_busy_hides(self):
        self.assertEqual(model.busy(kernel()), 600 + (400 + 200) / 2)

    def test_a_workgroup_alone_waits(self):
        self.assertAlmostEqual(self.us(), 1 + (900 + 10 * 10 + 2 * 200) / 1e3)

    def test_workgroups_that_share_a_core_hide_waits_until_it_is_busy(self):
        self.assertAlmostEqual(self.us(groups=20), 1 + max(2 * 900, 1400) / 1e3)
        self.assertAlmostEqual(self.us(groups=20, waits=10), 1 + 3000 / 1e3)

    def test_waves(self):
        self.assertAlmostEqual(self.us(groups=41), 1 + (4 * 900 + 1400) / 1e3)
        self.assertAlmostEqual(self.us(groups=30, fits=1), 1 + 3 * 1400 / 1e3)

    def test_bytes_that_the_second_cache_does_not_hold(self):
        self.assertAlmostEqual(self.us(bytes=2e6), 1 + 2.0 + (900 + 100 + 2 * 500) / 1e3 / 2)

    def test_the_longest_workgroup(self):
        self.assertAlmostEqual(self.us(longest=2), 1 + 2 * 1.4)


class Row(unittest.TestCase):
    def test_terms(self):
        found = model.kernel_of(row(), MACHINE)
        self.assertEqual((found.turns, found.waits, found.matrix, found.shared, found.fits), (10, 21, 640, 500, 4))
        self.assertEqual(found.issue, (10 * 60 + 200) * 4 / 4)

    def test_at_most_each_request_is_a_wait(self):
        self.assertEqual(model.kernel_of(row(load_groups=52), MACHINE).waits, 31)

    def test_a_loop_that_the_first_cache_does_not_hold(self):
        found = model.kernel_of(row(step_length=2000, instructions=2200), MACHINE)
        self.assertEqual(found.issue, (10 * 60 + 200) * 4 * model.SLOW_FETCH / 4)

    def test_threads_with_registers_of_their_own(self):
        machine = {**MACHINE, "model": {**MACHINE["model"], "threads": 64}}
        self.assertEqual([model.kernel_of(row(**of), machine).fits for of in ({}, {"registers": 999}, {"invocations": 4096})], [16, 16, 1])

    def test_rows_of_another_clock(self):
        times = model.times_at_full_clock(H100 / "heed.csv")
        self.assertIn("product f16 512x3072x768", times)
        self.assertNotIn("softmax f32 6144x512", times)


class Frames(unittest.TestCase):
    def test_works_that_fit(self):
        self.assertEqual(frames.most_frames([500, 1500], 2000), 1)
        self.assertEqual(frames.dearest_frame([(500, 500), (1500, 1500)], 2000), 2000)

    def test_any_order(self):
        # Each of these fills a frame of 1,000 alone.
        self.assertGreaterEqual(frames.most_frames([900, 600, 900, 600], 1000), 4)
        self.assertLessEqual(frames.most_frames([100] * 100, 1000), 12)

    def test_a_dispatch_alone(self):
        self.assertEqual(frames.dearest_frame([(3000, 5000)], 2000), 3000)
        self.assertGreaterEqual(frames.most_frames([5000, 100, 5000], 2000), 3)

    def test_estimates_that_are_too_low(self):
        self.assertEqual(frames.dearest_frame([(30, 10), (100, 100), (500, 2000)], 110), 500)
        self.assertEqual(frames.dearest_frame([(30, 10), (100, 100), (50, 2000)], 110), 130)


class Card(unittest.TestCase):
    def test_times_of_an_h100(self):
        machine = json.loads((HERE / "machines.json").read_text())["machines"]["H100"]
        times, works = model.times_at_full_clock(H100 / "heed.csv"), model.read_works(H100 / "kernels.csv")
        self.assertEqual(set(times) - set(works), set())
        far = {work for work, us in times.items() if not model.is_near(model.foretell(works[work], machine)[0], us)}
        self.assertEqual(far, set(model.LACKING))


if __name__ == "__main__":
    unittest.main()
