# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# mimalloc_secure.sh -- mimalloc with its security options, which no package of Debian has: built
# from Debian's source package.  After common.sh; needs gcc and apt-get, no root.

# Prints the library's path.
mimalloc_secure() {
    local folder=$MALLOW_BUILD/peers suite source
    local library=$folder/libmimalloc-secure.so
    if [ ! -r "$library" ]; then
        mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
        suite=$(. /etc/os-release && echo "$VERSION_CODENAME")
        echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
            "http://deb.debian.org/debian $suite main" >"$folder/sources.list"
        (
            cd "$folder"
            # Lists of its own: the system's are root's, and may name no sources.
            apt=(apt-get -q -o Dir::Etc::SourceList="$folder/sources.list"
                -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$folder/lists"
                -o Dir::Cache="$folder/cache" -o APT::Sandbox::User="$(id -un)")
            "${apt[@]}" update && "${apt[@]}" source --download-only mimalloc
            tar xf mimalloc_*.orig.tar.*
        ) >&2 || die "mimalloc's source is not to be had"
        source=$(find "$folder" -maxdepth 1 -type d -name 'mimalloc-*')
        # As its CMakeLists.txt does with MI_SECURE=ON.
        gcc -O2 -DNDEBUG -DMI_SECURE=4 -DMI_MALLOC_OVERRIDE -DMI_SHARED_LIB \
            -DMI_SHARED_LIB_EXPORT -fPIC -ftls-model=initial-exec -fvisibility=hidden \
            -fno-builtin-malloc -shared -I"$source/include" "$source/src/static.c" \
            -o "$library" -lpthread >&2 || die "mimalloc does not compile"
    fi
    echo "$library"
}
