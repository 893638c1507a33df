# SPDX-License-Identifier: MIT
# hung.bash -- a file system that does not answer (hung_page.c), for the scripts that source this
# after lib.bash.

# hang_folder: makes ./folder with the file `hung`, by ./hung_page.  Fails if this user may not have
# file systems of FUSE: $server has ended then.
hang_folder() {
    mkdir folder
    ./hung_page serve folder hung &
    server=$!
    started+=("$server")
    at_end "umount -l '$work/folder' 2>/dev/null"
    # Or the kernel refused it.
    is_mounted() {
        grep -q "$work/folder fuse" /proc/mounts || has_ended "$server"
    }
    await 60 is_mounted
    ! has_ended "$server"
}
