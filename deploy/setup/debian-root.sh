#!/bin/bash
# Make a minimal Debian trixie as a tar archive, for machines that reach no container registry.
# debian-root.sh ARCHIVE [MIRROR]: without one, debootstrap's own
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deploy/setup/lib.sh
. "$here/lib.sh"
archive=$1
mirror=${2:-}

can_be_root || die "debootstrap needs root or sudo"
# The keyring: on Ubuntu, and on a Debian older than the suite, debootstrap cannot check the signatures without it.
command -v debootstrap >/dev/null && [ -e /usr/share/keyrings/debian-archive-keyring.gpg ] ||
  apt_install "debootstrap is missing" debootstrap debian-archive-keyring ||
  die "debootstrap is missing: install it and run this again"

# A mirror need not carry all three; a line in sources.list that does not answer breaks every build.
carries() { python3 -c 'import sys, urllib.request as u; u.urlopen(sys.argv[1], timeout=30).read(1)' "$1" 2>/dev/null; }

folder=$(as_root mktemp -d /var/tmp/gofer-root.XXXXXX)
trap 'as_root rm -rf "$folder"' EXIT
as_root chmod 0755 "$folder"
say "debootstrap trixie${mirror:+ from $mirror} (one to two minutes)"
as_root debootstrap --variant=minbase --include=ca-certificates \
  --keyring=/usr/share/keyrings/debian-archive-keyring.gpg trixie "$folder" ${mirror:+"$mirror"} >"$archive.log" 2>&1 || {
  tail -n 20 "$archive.log" >&2
  die "debootstrap failed"
}
# What debootstrap has used, where it chose itself.
mirror=${mirror:-$(awk '$1 == "deb" { print $2; exit }' "$folder/etc/apt/sources.list")}
# As the official slim image: updates and security fixes are found, documentation is left out, licences stay.
security=${mirror%/debian}/debian-security
for source in "$mirror trixie" "$mirror trixie-updates" "$security trixie-security"; do
  if carries "${source% *}/dists/${source#* }/Release"; then
    echo "deb $source main"
  else
    say "$source does not answer and is left out of the image's sources"
  fi
done | as_root tee "$folder/etc/apt/sources.list" >/dev/null
as_root rm -rf "$folder"/var/cache/apt/archives/*.deb "$folder"/var/lib/apt/lists/* "$folder"/var/log/* \
  "$folder"/usr/share/{man,info,locale,groff,lintian} "$folder/etc/hostname" "$folder/etc/resolv.conf"
as_root find "$folder/usr/share/doc" -type f ! -name copyright -delete
as_root tar -C "$folder" --numeric-owner -cf "$archive" .
as_root chmod 0644 "$archive"
