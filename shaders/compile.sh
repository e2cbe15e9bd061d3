#!/bin/sh
# Compiles every module of shaders/variants.txt to shaders/spirv/<name>.spv with a pinned compiler, so that the committed files can be
# compared byte by byte.
#
#   shaders/compile.sh            writes shaders/spirv
#   shaders/compile.sh --check    compiles beside it and fails, listing every file that differs
#
# The pinned compiler is Debian 13's glslc. On other systems its packages are downloaded once and unpacked into $HEED_TOOLCHAIN (default
# build/shader-toolchain); nothing is installed, and later runs need no network.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
toolchain=${HEED_TOOLCHAIN:-$root/build/shader-toolchain}
pinned='shaderc 2025.2, glslang 15.1'
suite=trixie
packages='glslc libshaderc1 spirv-tools libc6 libgcc-s1 libstdc++6'
mirror=${HEED_DEBIAN_MIRROR:-http://deb.debian.org/debian}

say() { printf '%s\n' "$*"; }
die() { printf 'compile.sh: %s\n' "$*" >&2; exit 2; }

is_pinned() {
  version=$("$@" --version 2>/dev/null) || return 1
  case $version in *'shaderc 2025.2'*'glslang 15.1'*) return 0 ;; esac
  return 1
}

# The dynamic loader is called explicitly: the unpacked glslc must run with its own libc, not with the system's.
unpacked_glslc() {
  loader=$(find "$toolchain/root/usr/lib" "$toolchain/root/lib64" -name 'ld-linux-*.so.*' 2>/dev/null | head -n 1)
  [ -n "$loader" ] || return 1
  libraries=$(dirname "$(find "$toolchain/root/usr/lib" -name 'libshaderc.so.1' | head -n 1)")
  set -- "$loader" --library-path "$libraries" "$toolchain/root/usr/bin/glslc"
  is_pinned "$@" || return 1
  glslc_loader=$loader glslc_libraries=$libraries
}

tool() {  # tool NAME ARGUMENT...: a program of the compiler's packages
  program=$1
  shift
  if [ -n "$glslc_loader" ]; then
    "$glslc_loader" --library-path "$glslc_libraries" "$toolchain/root/usr/bin/$program" "$@"
  else
    command "$program" "$@"
  fi
}
glslc() { tool glslc "$@"; }

# Uses the spirv-val of the same release: an older one does not support all of the output. If it is missing, nothing is validated.
validate() {
  if [ -n "$glslc_loader" ] || command -v spirv-val >/dev/null; then tool spirv-val "$@"; fi
}

# The compiler does not support bf16. This turns f16 into bf16 in a module that uses f16 only in matrices, by numbers of SPV_KHR_bfloat16,
# which the assembler accepts: 0 is the encoding of the type, and the capabilities are BFloat16TypeKHR, which replaces Float16, and
# BFloat16CooperativeMatrixKHR.
make_bfloat() {  # make_bfloat FILE
  tool spirv-dis --raw-id --no-indent "$1" -o "$1.f16" &&
    sed -e 's/^OpCapability Float16$/OpCapability !5116\nOpCapability !5118/' \
      -e 's/^OpExtension "SPV_KHR_cooperative_matrix"$/OpExtension "SPV_KHR_bfloat16"\n&/' \
      -e 's/= OpTypeFloat 16$/& !0/' "$1.f16" > "$1.bf16" &&
    tool spirv-as --target-env spv1.3 --preserve-numeric-ids "$1.bf16" -o "$1" && rm "$1.f16" "$1.bf16"
}

# A private apt with its own sources, lists and cache, so that the system's package state is neither read nor changed.
fetch_toolchain() {
  command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
    die "needs glslc of $pinned; put it on PATH or run on a Debian-based system"
  keyring=''
  for key in /usr/share/keyrings/debian-archive-keyring.gpg /usr/share/keyrings/debian-archive-keyring.pgp \
             /usr/share/keyrings/debian-archive-trixie-stable.gpg; do
    [ -n "$keyring" ] || { [ -r "$key" ] && keyring=$key; } || true
  done
  [ -n "$keyring" ] || die 'no Debian archive keyring (package debian-archive-keyring)'
  architecture=$(dpkg --print-architecture)
  apt=$toolchain/apt
  rm -rf "$toolchain/root"
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/etc/apt.conf.d" "$toolchain/root"
  : > "$apt/status"
  say "deb [arch=$architecture signed-by=$keyring] $mirror $suite main" > "$apt/etc/sources.list"
  cat > "$apt/apt.conf" <<CONF
Dir::Etc "$apt/etc";
Dir::Etc::SourceList "$apt/etc/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$apt";
Dir::State::Lists "$apt/lists";
Dir::State::Status "$apt/status";
Dir::Cache "$apt/cache";
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
  say "fetching the pinned shader compiler into $toolchain"
  (
    export APT_CONFIG="$apt/apt.conf"
    cd "$apt/cache" && rm -f ./*.deb &&
      apt-get -q update >/dev/null &&
      apt-get -q download $packages >/dev/null &&
      for package in ./*.deb; do dpkg -x "$package" "$toolchain/root" || exit 1; done &&
      rm -f ./*.deb
  ) || die "cannot fetch $packages of $suite from $mirror"
}

find_compiler() {
  glslc_loader='' glslc_libraries=''
  if command -v glslc >/dev/null && command -v spirv-opt >/dev/null && is_pinned glslc; then return; fi
  if unpacked_glslc; then return; fi
  fetch_toolchain
  unpacked_glslc || die "the unpacked compiler does not start or is not $pinned"
}

# Lists the modules of variants.txt, expanded as in the build: name, source, defines...
list_modules() {  # list_modules FILE
  command -v cmake >/dev/null || die 'needs cmake, which expands variants.txt'
  cmake "-DHEED_VARIANTS=$root/shaders/variants.txt" "-DHEED_OUTPUT=$1" -P "$root/shaders/shaders.cmake" || exit 2
}

# The passes of `glslc -O`; KEEP_CALLS omits inlining. Where CANON relies on NoContraction, only passes that move and remove instructions
# are used: copied instructions, as in unrolled loops, lose it.
moving_passes='--strip-debug --eliminate-local-single-block --eliminate-local-single-store --ssa-rewrite
  --eliminate-dead-code-aggressive --compact-ids'
inlining='--wrap-opkill --eliminate-dead-branches --merge-return --inline-entry-points-exhaustive'
all_passes='--strip-debug --eliminate-dead-branches --eliminate-dead-functions --private-to-local
  --eliminate-local-single-block --eliminate-local-single-store --eliminate-dead-code-aggressive --scalar-replacement=100
  --convert-local-access-chains --eliminate-local-single-block --eliminate-local-single-store --ssa-rewrite
  --eliminate-dead-code-aggressive --ccp --loop-unroll --eliminate-dead-branches --redundancy-elimination
  --combine-access-chains --simplify-instructions --vector-dce --eliminate-dead-inserts --reduce-load-size --merge-blocks
  --redundancy-elimination --simplify-instructions --eliminate-dead-code-aggressive --compact-ids'

compile_all() {  # compile_all DIRECTORY
  while read -r name source defines; do
    options=''
    for define in $defines; do options="$options -D$define"; done
    # shellcheck disable=SC2086  # one word per define
    glslc -O0 --target-env=vulkan1.1 -Werror -I "$root/shaders" $options \
      -o "$1/$name.spv" "$root/shaders/$source" || die "$name ($source) does not compile"
    case " $defines " in
      *' CANON '*) passes=$moving_passes ;;
      *' KEEP_CALLS '*) passes=$all_passes ;;
      *) passes="$inlining $all_passes" ;;
    esac
    # shellcheck disable=SC2086  # one word per pass
    tool spirv-opt $passes "$1/$name.spv" -o "$1/$name.spv" || die "$name cannot be optimized"
    validate --target-env vulkan1.1 "$1/$name.spv" || die "$name is not valid SPIR-V"
    case "$source $defines " in
      *_matrix.comp*' A_BFLOAT '*) make_bfloat "$1/$name.spv" || die "$name does not become bf16" ;;
    esac
  done < "$1/modules.txt"
}

# Shaders of samples and tests have one variant, stored next to the source: samples/NAME/x.comp becomes x.spv, samples/NAME/shaders/x.vert
# becomes x.vert.spv.
compile_samples() {  # compile_samples DIRECTORY
  for source in "$root"/samples/*/*.comp "$root"/samples/*/shaders/*.comp "$root"/samples/*/shaders/*.vert \
                "$root"/samples/*/shaders/*.frag "$root"/tests/*/*.comp; do
    [ -e "$source" ] || continue
    target=$1/${source#"$root"/}
    case $target in */shaders/*) target=$target.spv ;; *) target=${target%.comp}.spv ;; esac
    mkdir -p "$(dirname "$target")"
    glslc -O --target-env=vulkan1.1 -Werror -I "$root/shaders" -o "$target" "$source" ||
      die "$source does not compile"
  done
}

# The compiled shaders of samples below a directory, as paths relative to it.
sample_spirv() { (cd "$1" && find samples tests -name '*.spv' 2>/dev/null); }

case ${1:-} in '' | --check) ;; *) die "unknown argument '$1'; see the head of this file" ;; esac
find_compiler
glslc --version | head -n 3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
list_modules "$work/modules.txt"
compile_all "$work"
compile_samples "$work"

count=$(wc -l < "$work/modules.txt")
if [ "${1:-}" = --check ]; then
  status=0
  for name in $(for file in "$work"/*.spv "$root"/shaders/spirv/*.spv; do basename "$file"; done | sort -u); do
    cmp -s "$work/$name" "$root/shaders/spirv/$name" || { say "differs: shaders/spirv/$name"; status=1; }
  done
  for name in $({ sample_spirv "$work"; sample_spirv "$root"; } | sort -u); do
    cmp -s "$work/$name" "$root/$name" || { say "differs: $name"; status=1; }
  done
  [ $status -eq 0 ] && say "$count shader modules and the samples' shaders match their sources"
  exit $status
fi
mkdir -p "$root/shaders/spirv"
for file in "$root"/shaders/spirv/*.spv; do  # modules that no longer exist
  [ -e "$work/$(basename "$file")" ] || rm -f "$file"
done
for file in "$work"/*.spv; do  # keeps the time stamp of unchanged files
  target=$root/shaders/spirv/$(basename "$file")
  cmp -s "$file" "$target" || cp "$file" "$target"
done
for name in $(sample_spirv "$root"); do
  [ -e "$work/$name" ] || rm -f "$root/$name"
done
for name in $(sample_spirv "$work"); do
  cmp -s "$work/$name" "$root/$name" || cp "$work/$name" "$root/$name"
done
say "$count shader modules written"
