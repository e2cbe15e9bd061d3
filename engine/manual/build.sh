#!/usr/bin/env bash
# Builds the manual, build/manual/index.html, from the pages of include/heed/guide and the reference of C++, C and Python.
#   build.sh            installs what is missing (Debian, Ubuntu), and writes it
#   build.sh --check    installs nothing; writes it, and fails on public names without documentation, dead links, long pages and misspelt words.
#                       Exit code 3: Doxygen, codespell or pdoc is not here
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root"
check=${1:-}
[[ -z $check || $check == --check ]] || { sed -n '2,/^set /s/^# //p' "${BASH_SOURCE[0]}"; exit 2; }
[[ -n $check ]] || tests/drivers/install.sh manual
for tool in doxygen codespell; do
  command -v $tool >/dev/null || { echo "SKIPPED: $tool is not installed, so the manual is not built (tests/drivers/install.sh manual)"; exit 3; }
done

# pdoc also has the Markdown and colour libraries that pages.py needs. Like clang-format, it is installed to .cache/ if the system has none.
version=16.0.0
tools=$root/.cache/pdoc-$version
if ! PYTHONPATH=$tools python3 -c 'import pdoc, markdown2' 2>/dev/null &&
   ! python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --upgrade --target "$tools" "pdoc==$version" </dev/null >&2; then
  echo "SKIPPED: pdoc $version is not installed, and pip cannot get it, so the manual is not built"
  exit 3
fi
export PYTHONPATH=$tools PYTHONDONTWRITEBYTECODE=1

export HEED_MANUAL=$root/build/manual HEED_SOURCE=$here
rm -rf "$HEED_MANUAL"
mkdir -p "$HEED_MANUAL"
cp "$here/style.css" "$here/search.js" "$HEED_MANUAL"
failed=0
"$here/comments.py" include/heed "$HEED_MANUAL/headers/heed" || failed=1
bar=$(sed 's|@ROOT@|$relpath^../|g' "$here/bar.html")
cat >"$HEED_MANUAL/header.html" <<HTML
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>\$title</title>
<link rel="stylesheet" href="\$relpath^../style.css">
</head>
<body>
$bar
<div>
HTML
printf '</div>\n</body>\n</html>\n' >"$HEED_MANUAL/footer.html"
doxygen "$here/Doxyfile"
rm "$HEED_MANUAL/header.html" "$HEED_MANUAL/footer.html"

"$here/python_reference.py" "$HEED_MANUAL" || failed=1
"$here/pages.py" "$HEED_MANUAL"
# comments.py already reports undocumented members of structs.
undocumented=$(grep -v '(variable) of struct' "$HEED_MANUAL/doxygen.log" | sed "s|^$HEED_MANUAL/headers|FAIL include|; s|warning: ||" || true)
[[ -z $undocumented ]] || { echo "$undocumented"; failed=1; }
[[ -n $check ]] || { echo "build/manual/index.html"; exit $failed; }

"$here/pages.py" "$HEED_MANUAL" --check || failed=1
# Checks the spelling. words.txt lists correct words that codespell takes for misspellings; files of data are not checked.
wrong=$({ git ls-files -z include engine shaders samples tests '*.md' 2>/dev/null || find include engine shaders samples tests -type f -print0; } |
  grep -z -E '\.(md|hpp|h|cpp|inc|py|sh|cmake|comp|glsl|gd)$' | grep -z -v -E '^tests/search/data/' |
  xargs -0 codespell --ignore-words "$here/words.txt" || true)
[[ -z $wrong ]] || { sed 's/^/FAIL /' <<<"$wrong"; failed=1; }
[[ $failed -ne 0 ]] || echo "ok public names of C++, C and Python, and spelling"
exit $failed
