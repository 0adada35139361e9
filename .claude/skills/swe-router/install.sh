#!/bin/sh
# Copies this skill into another repository: install.sh TARGET [--force]
# Where files there differ nothing is copied, unless --force is given: then each is kept beside as NAME.before.
set -eu

files="SKILL.md route.py models.json model-aliases.json allowed-models.txt"

fail() {
    printf 'install.sh: %s\n' "$1" >&2
    exit 2
}

target= force=no
for word in "$@"; do
    case $word in
        --force) force=yes ;;
        -h | --help)
            printf 'usage: install.sh TARGET [--force]\n'
            exit 0
            ;;
        -*) fail "unknown option $word; usage: install.sh TARGET [--force]" ;;
        *)
            [ -z "$target" ] || fail "one target at a time; usage: install.sh TARGET [--force]"
            target=$word
            ;;
    esac
done
[ -n "$target" ] || fail "which repository? usage: install.sh TARGET [--force]"
[ -d "$target" ] || fail "there is no folder $target"

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd -P)
target=$(CDPATH='' cd -- "$target" && pwd -P)
skill=$target/.claude/skills/swe-router
[ "$skill" != "$here" ] || fail "the skill is in $target already"

changed=
for name in $files; do
    [ -f "$here/$name" ] || fail "$here/$name is missing: this copy of the skill is not whole"
    [ ! -d "$skill/$name" ] || fail "$skill/$name is a folder, and the skill has a file of that name"
    if [ -e "$skill/$name" ] || [ -L "$skill/$name" ]; then
        cmp -s -- "$here/$name" "$skill/$name" || changed="$changed $name"
    fi
done
if [ -n "$changed" ] && [ "$force" = no ]; then
    fail "$skill has files that differ:$changed; nothing was copied, --force replaces them"
fi

mkdir -p -- "$skill" 2>/dev/null || fail "the folder $skill cannot be made: something else has that name, or you may not write there"
for name in $files; do
    # Renamed into place, so that a link there is replaced and not written through.
    cp -- "$here/$name" "$skill/.$name.new"
    case " $changed " in *" $name "*) mv -f -- "$skill/$name" "$skill/$name.before" ;; esac
    mv -f -- "$skill/.$name.new" "$skill/$name"
done
chmod +x -- "$skill/route.py"

printf 'installed in %s\n' "$skill"
printf 'next: take out of allowed-models.txt what may not be used there\n'
