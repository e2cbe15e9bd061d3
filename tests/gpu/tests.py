#!/usr/bin/env python3
"""Runs the tests of the Python programs that read listings and predict times."""
import pathlib
import sys
import unittest

here = pathlib.Path(__file__).parent
loader, all_tests = unittest.defaultTestLoader, unittest.TestSuite()
for folder in (here, here / "profile", here / "card"):
    sys.path.insert(0, str(folder))
    all_tests.addTests(loader.discover(str(folder), pattern="*_test.py", top_level_dir=str(folder)))
done = unittest.TextTestRunner().run(all_tests)
if not done.wasSuccessful() or done.testsRun == 0:
    sys.exit("FAIL listings and the model of times")
print(f"ok {done.testsRun} tests of listings and of the model of times")
