# Finds C++ that tests/format.sh would change.
about="all C++ is formatted"
stage() { check_lines "tests/format.sh --check" "$root/tests/format.sh" --check; }
