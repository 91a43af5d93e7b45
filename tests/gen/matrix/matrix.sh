#!/bin/bash
# Makes the cores of tests/corpus: one small program under every libc that the machine's package
# mirror serves, on three machines. Needs the network, so it is no part of `make test`.
#
#   bash tests/gen/matrix/matrix.sh WORK OUT [PATTERN]
#
# WORK keeps the packages and the unpacked roots, OUT gets NAME.tar.zst; PATTERN (a shell pattern
# of names, "*") makes some of them only. Runs as root: each libc runs in a root folder of its own,
# so that it finds its own files by their usual names and no path of this machine is in a core.
set -euo pipefail
umask 022
here=$(cd "$(dirname "$0")" && pwd)
work=$(mkdir -p "$1" && cd "$1" && pwd)
out=$(mkdir -p "$2" && cd "$2" && pwd)
pattern=${3:-*}

suites="bullseye bookworm trixie sid experimental"
machines="amd64 i386 arm64"
oldest=bullseye

die() {
    echo "matrix: $*" >&2
    exit 1
}

for tool in clang ld.lld qemu-aarch64 strace zstd tar dpkg-deb apt-get; do
    command -v $tool > /dev/null || die "$tool is missing: apt-get install clang lld qemu-user strace"
done
[ "$(id -u)" = 0 ] || die "must be root, for chroot"
case $(cat /proc/sys/kernel/core_pattern) in
core*) ;;
*) die "the kernel does not leave cores in the folder of the process (core_pattern)" ;;
esac

# ---- packages: an apt of our own, which knows the mirror that this machine uses ----

apt_here() {
    APT_CONFIG=$work/apt/conf apt-get -qq -o APT::Sandbox::User=root "$@"
}

configure_apt() {
    mkdir -p "$work"/apt/{lists/partial,cache/archives/partial,etc/{apt.conf.d,preferences.d}} "$work/debs"
    : > "$work/apt/status"
    cat > "$work/apt/conf" <<END
Dir::State "$work/apt";
Dir::State::lists "$work/apt/lists";
Dir::State::status "$work/apt/status";
Dir::Cache "$work/apt/cache";
Dir::Etc "$work/apt/etc";
APT::Architecture "amd64";
APT::Architectures { "amd64"; "i386"; "arm64"; };
Acquire::Languages "none";
Acquire::Check-Valid-Until "false"; // the mirror may be a picture of some day
END
    local site
    site=$(apt-get indextargets --format '$(SITE)' 'Created-By: Packages' 'Component: main' |
        grep -v security | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')
    [ -n "$site" ] || die "apt has no mirror configured"
    for suite in $suites; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $site $suite main"
    done > "$work/apt/etc/sources.list"
}

fetch_packages() {
    [ ! -e "$work/debs/complete" ] || return 0
    configure_apt
    apt_here update
    for suite in $suites; do
        local wanted=() machine
        for machine in $machines; do
            wanted+=("libc6:$machine/$suite")
            [ $suite != $oldest ] || wanted+=({libc6-dev,linux-libc-dev}":$machine/$suite")
        done
        [ $suite = $oldest ] || wanted+=("libc6-dev:amd64/$suite")
        (cd "$work/debs" && apt_here download "${wanted[@]}")
    done
    touch "$work/debs/complete"
}

# roots/RELEASE-MACHINE has the libc, roots/build-MACHINE what the program is built against. A root
# of today's layout: /lib and the like are links into /usr.
new_root() {
    mkdir -p "$1"/usr/{lib,lib64,bin,sbin} "$1/tmp"
    for name in lib lib64 bin sbin; do
        ln -sfn usr/$name "$1/$name"
    done
}

unpack() {
    dpkg-deb --fsys-tarfile "$1" | tar -C "$2" --keep-directory-symlink -xf - --exclude='./usr/share'
}

unpack_roots() {
    local deb name version machine release root
    for deb in "$work"/debs/*.deb; do
        name=$(dpkg-deb -f "$deb" Package)
        version=$(dpkg-deb -f "$deb" Version)
        machine=$(dpkg-deb -f "$deb" Architecture)
        release=$(echo "$version" | cut -d- -f1)
        case $name in
        libc6) root=$work/roots/$release-$machine ;;
        libc6-dev) root=$work/roots/dev-$release-$machine ;;
        *) root=$work/roots/dev-2.31-$machine ;;
        esac
        [ ! -e "$root/$name" ] || continue
        new_root "$root"
        unpack "$deb" "$root"
        touch "$root/$name"
    done
}

# ---- the program ----

triple() {
    case $1 in
    amd64) echo x86_64-linux-gnu ;;
    i386) echo i386-linux-gnu ;;
    arm64) echo aarch64-linux-gnu ;;
    esac
}

# By name and in full, because no compiler driver knows of these roots.
build_dynamic() {
    local machine=$1 root=$work/roots/dev-2.31-$1 dir object=$work/matrix-$1.o loader
    dir=usr/lib/$(triple "$machine")
    case $machine in
    amd64) loader=/lib64/ld-linux-x86-64.so.2 ;;
    i386) loader=/lib/ld-linux.so.2 ;;
    arm64) loader=/lib/ld-linux-aarch64.so.1 ;;
    esac
    clang --target="$(triple "$machine")" --sysroot="$root" -std=gnu11 -O1 -g0 -fno-builtin -fPIE \
        -Wall -Wextra -ffile-prefix-map="$here"=. -c -o "$object" "$here/matrix.c"
    # libc.so is a linker script with absolute names: the libraries themselves stand in the root.
    local libc=$work/roots/2.31-$machine
    ld.lld -pie -z now --hash-style=gnu --dynamic-linker $loader -o "$work/matrix-$machine" \
        "$root/$dir"/{Scrt1.o,crti.o} "$object" "$libc/lib/$(triple "$machine")"/libpthread.so.0 \
        "$libc/lib/$(triple "$machine")"/{libdl.so.2,libc.so.6} "$root/$dir"/{libc_nonshared.a,crtn.o}
}

# The compiler's unwinder asks for a function that 2.31 has not: never called here.
build_static() {
    local release=$1 kind=$2 dir gcc first=crt1.o flags=(-static)
    dir=$work/roots/dev-$release-amd64/usr/lib/x86_64-linux-gnu
    gcc=$(dirname "$(gcc -print-libgcc-file-name)")
    if [ "$kind" = static-pie ]; then
        first=rcrt1.o
        flags=(-static -pie --no-dynamic-linker -z text)
    fi
    clang --target=x86_64-linux-gnu --sysroot="$work/roots/dev-2.31-amd64" -std=gnu11 -O1 -g0 \
        -DMATRIX_STATIC -fno-builtin -fPIE -ffile-prefix-map="$here"=. -c -o "$work/static.o" \
        "$here/matrix.c"
    ld.lld "${flags[@]}" --eh-frame-hdr --unresolved-symbols=ignore-all \
        -o "$work/matrix-$release-$kind" "$dir/$first" "$dir/crti.o" \
        "$work/static.o" --start-group "$dir"/{libpthread.a,libc.a} "$gcc"/{libgcc.a,libgcc_eh.a} \
        --end-group "$dir/crtn.o"
}

# ---- one core ----

# The child's calls between the two marks, as records. strace and qemu's own tracer differ in little.
trim_calls() {
    awk '
        /TRIM-BEGIN/ { inside = 1; next }
        /TRIM-END/ { inside = 0; ended = 1; next }
        inside && match($0, /(madvise|brk|munmap|mremap|mmap|mprotect)\(/) {
            call = substr($0, RSTART, RLENGTH - 1)
            rest = substr($0, RSTART + RLENGTH)
            close_at = index(rest, ")")
            n = split(substr(rest, 1, close_at - 1), arg, /, */)
            result = substr(rest, close_at + 1)
            sub(/^ *= */, "", result)
            sub(/ .*/, "", result)
            line = "trim_call\t" call
            for (i = 1; i <= 3; i++) {
                value = i <= n ? arg[i] : 0
                if (value == "NULL") value = 0
                if (value == "MADV_DONTNEED") value = 4
                line = line "\t" value
            }
            print line "\t" result
        }
        END { if (!ended) exit 1; print "trim_traced\t1"; print "end" }' "$1"
}

# make_core NAME ROOT PROGRAM SCENARIO [VARIABLE=VALUE...]
make_core() {
    local name=$1 root=$work/roots/$2 program=$3 calls=$work/calls
    # shellcheck disable=SC2254
    case $name in
    $pattern) ;;
    *) return 0 ;;
    esac
    shift 3
    (cd "$root" && rm -f core qemu_*.core truth truth.xml && cp "$program" matrix)
    case $root in
    *-arm64) run_emulated "$root" "$calls" "$@" ;;
    *) run_native "$root" "$calls" "$@" ;;
    esac
    [ -s "$root/core" ] || die "$name: no core (see $calls)"
    trim_calls "$calls" >> "$root/truth"
    tar -C "$root" -S --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 --format=gnu \
        -cf - core truth truth.xml | zstd -q -19 -f -o "$out/$name.tar.zst"
    echo "$name $(stat -c %s "$out/$name.tar.zst")"
}

run_native() {
    local root=$1 calls=$2
    shift 2
    # It ends by a signal, about which the inner shell has something to say.
    ( (ulimit -c unlimited && env -i "$(command -v strace)" -f -o "$calls" \
        -e trace=madvise,brk,munmap,mremap,mmap,mprotect,access \
        "$(command -v chroot)" "$root" /matrix "$@") || :) 2> /dev/null
}

run_emulated() {
    local root=$1 calls=$2 scenario=$3 variables=() variable
    shift 3
    for variable; do
        variables+=(-E "$variable")
    done
    ( (cd "$root" && ulimit -c unlimited && env -i "$(command -v qemu-aarch64)" -L "$root" -strace \
        "${variables[@]}" ./matrix "$scenario" 2> "$calls") || :) 2> /dev/null
    rm -f "$root/core" # the emulator's own
    [ ! -e "$(echo "$root"/qemu_*.core)" ] || mv "$root"/qemu_*.core "$root/core"
}

# ---- all of them ----

make_all() {
    local machine release program scenario
    for machine in $machines; do
        build_dynamic "$machine"
        program=$work/matrix-$machine
        for release in 2.31 2.36 2.41 2.43 2.44; do
            for scenario in basic threads foreign empty nobrk unused; do
                make_core "$release-$machine-$scenario" "$release-$machine" "$program" $scenario
            done
        done
    done
}

# Settings, and ways to have malloc that are not libc.so.6.
make_more() {
    local release program=$work/matrix-amd64
    for release in 2.31 2.36 2.41 2.43 2.44; do
        more() {
            make_core "$release-amd64-$1" "$release-amd64" "$program" "${@:2}"
        }
        more tcache-off bins GLIBC_TUNABLES=glibc.malloc.tcache_count=0
        more perturb bins MALLOC_PERTURB_=165
        more arena-max threads MALLOC_ARENA_MAX=2
        more dlmopen dlmopen
        case $release in
        2.31) more tunables threads GLIBC_TUNABLES=glibc.malloc.tcache_count=3 ;;
        *)
            more hugetlb1 threads GLIBC_TUNABLES=glibc.malloc.hugetlb=1
            more hugetlb2 threads GLIBC_TUNABLES=glibc.malloc.hugetlb=2
            more debug bins LD_PRELOAD=libc_malloc_debug.so.0
            more debug-check bins LD_PRELOAD=libc_malloc_debug.so.0 MALLOC_CHECK_=3
            ;;
        esac
        case $release in
        2.31 | 2.36 | 2.41) more tcache-max large GLIBC_TUNABLES=glibc.malloc.tcache_max=500 ;;
        *) more tcache-large large GLIBC_TUNABLES=glibc.malloc.tcache_max=4000000 ;;
        esac
        build_static $release static
        make_core $release-amd64-static $release-amd64 "$work/matrix-$release-static" threads
        build_static $release static-pie
        make_core $release-amd64-static-pie $release-amd64 "$work/matrix-$release-static-pie" basic
    done
}

fetch_packages
unpack_roots
make_all
make_more
