"""Packs a release: archives whose bytes depend on their contents alone, licences, checksums and an SPDX list.

pack.py archive FOLDER FILE                       FILE ends in .tar.gz or .zip, and holds FOLDER by its name
pack.py licences FOLDER USES SOURCES ZIG SYSTEM...   USES: library, program or addon, with commas
pack.py describe DIST VERSION SOURCES ZIG SYSTEM...

SOURCE_DATE_EPOCH is the time that every entry gets.
"""

import dataclasses
import gzip
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import time
import zipfile

EPOCH = int(os.environ["SOURCE_DATE_EPOCH"])
LLVM = "Apache-2.0 WITH LLVM-exception"


@dataclasses.dataclass(frozen=True)
class Part:
    """Code of others that a release contains."""

    name: str
    license: str
    use: str  # library, program or addon: the first of them that contains it
    origin: str  # debian:PACKAGE (headers), source:PACKAGE/FILE or zig:FILE, which also say where the licence's text is
    systems: str = ""  # the beginning of the systems' names


PARTS = [
    Part("highway", "Apache-2.0 OR BSD-3-Clause", "library", "debian:libhwy-dev"),
    Part("nlohmann-json", "MIT", "library", "debian:nlohmann-json3-dev"),
    Part("protozero", "BSD-2-Clause", "library", "debian:libprotozero-dev"),
    Part("vulkan-headers", "Apache-2.0 OR MIT", "library", "debian:libvulkan-dev"),
    Part("utf8proc", "MIT AND Unicode-DFS-2015", "library", "source:utf8proc/LICENSE.md"),
    Part("zlib", "Zlib", "library", "source:zlib/README"),
    Part("libcxx", LLVM, "library", "zig:lib/libcxx/LICENSE.TXT"),
    Part("libcxxabi", LLVM, "library", "zig:lib/libcxxabi/LICENSE.TXT"),
    Part("libunwind", LLVM, "library", "zig:lib/libunwind/LICENSE.TXT"),
    Part("compiler-rt", "MIT", "library", "zig:LICENSE"),  # Zig's own
    Part("mingw-w64", "ZPL-2.1", "library", "zig:lib/libc/mingw/COPYING", "windows"),
    Part("cli11", "BSD-3-Clause", "program", "debian:libcli11-dev"),
    Part("libzip", "BSD-3-Clause", "program", "source:libzip/LICENSE"),
    Part("libsamplerate", "BSD-2-Clause", "addon", "source:libsamplerate/COPYING"),
]


def parts_of(uses, systems):
    return [part for part in PARTS if part.use in uses and any(system.startswith(part.systems) for system in systems)]


def license_file(part, sources, zig):
    kind, _, where = part.origin.partition(":")
    return {
        "debian": pathlib.Path("/usr/share/doc", where, "copyright"),
        "source": pathlib.Path(sources, where),
        "zig": pathlib.Path(zig).parent / where,
    }[kind]


def version(part, sources, zig):
    kind, _, where = part.origin.partition(":")
    if kind == "zig":
        return "of Zig " + subprocess.run([zig, "version"], check=True, capture_output=True, text=True).stdout.strip()
    if kind == "debian":
        command = ["dpkg-query", "-W", "-f", "${Version}", where]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout
    package = where.split("/")[0]
    (description,) = pathlib.Path(sources).glob(f"{package}_*.dsc")
    return description.stem.partition("_")[2]


def copy_licences(folder, uses, sources, zig, *systems):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    heed = pathlib.Path(__file__).parents[3]
    (folder / "heed").write_bytes((heed / "LICENSE").read_bytes())
    for part in parts_of(uses.split(","), systems):
        (folder / part.name).write_bytes(license_file(part, sources, zig).read_bytes())


def mode(path):
    return 0o755 if os.access(path, os.X_OK) else 0o644


def archive(folder, file):
    folder = pathlib.Path(folder)
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    if file.endswith(".zip"):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as out:
            for path in paths:
                info = zipfile.ZipInfo(str(path.relative_to(folder.parent)), time.gmtime(EPOCH)[:6])
                info.external_attr = (0o100000 | mode(path)) << 16
                out.writestr(info, path.read_bytes(), zipfile.ZIP_DEFLATED)
        return

    def plain(info):
        info.uid = info.gid = 0
        info.uname = info.gname = ""
        info.mtime = EPOCH
        info.mode = 0o755 if info.mode & 0o100 else 0o644
        return info

    with open(file, "wb") as raw, gzip.GzipFile("", "wb", 9, raw, EPOCH) as packed:
        with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as out:
            for path in paths:
                out.add(path, str(path.relative_to(folder.parent)), filter=plain)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def describe(dist, number, sources, zig, *systems):
    """Writes the list of what the files contain, in SPDX 2.3, and the checksums of all files."""
    dist = pathlib.Path(dist)
    files = sorted(path for path in dist.iterdir() if path.name.startswith("heed"))
    uses = {
        "whl": ["library"],
        "tar.gz": ["library", "program"],
        "zip": ["library", "program"],
        "godot.zip": ["library", "addon"],
        "source.tar.gz": [],
    }
    packages, relations = [], []
    for part in parts_of(["library", "program", "addon"], systems):
        packages.append({
            "SPDXID": f"SPDXRef-{part.name}",
            "name": part.name,
            "versionInfo": version(part, sources, zig),
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "licenseConcluded": part.license,
            "licenseDeclared": part.license,
            "copyrightText": "NOASSERTION",
        })
    for file in files:
        name = f"SPDXRef-{file.name}".replace("_", "-")
        packages.append({
            "SPDXID": name,
            "name": "heed",
            "versionInfo": number,
            "packageFileName": file.name,
            "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False,
            "checksums": [{"algorithm": "SHA256", "checksumValue": digest(file)}],
            "licenseConcluded": "MIT",
            "licenseDeclared": "MIT",
            "copyrightText": "NOASSERTION",
        })
        relations.append({"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": name})
        ending = max((end for end in uses if file.name.endswith(end)), key=len)
        is_windows = "win" in file.name
        its_systems = [one for one in systems if "godot" in file.name or one.startswith("windows") == is_windows]
        for part in parts_of(uses[ending], its_systems):
            relations.append({
                "spdxElementId": name, "relationshipType": "CONTAINS", "relatedSpdxElement": f"SPDXRef-{part.name}"
            })
    document = {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"heed-{number}",
        "documentNamespace": f"https://spdx.org/spdxdocs/heed-{number}-{EPOCH}",
        "creationInfo": {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(EPOCH)), "creators": ["Organization: heed"]
        },
        "packages": packages,
        "relationships": relations,
    }
    (dist / f"heed-{number}.spdx.json").write_text(json.dumps(document, indent=1) + "\n")
    files = sorted(path for path in dist.iterdir() if path.name != "SHA256SUMS")
    (dist / "SHA256SUMS").write_text("".join(f"{digest(path)}  {path.name}\n" for path in files))


if __name__ == "__main__":
    {"archive": archive, "licences": copy_licences, "describe": describe}[sys.argv[1]](*sys.argv[2:])
