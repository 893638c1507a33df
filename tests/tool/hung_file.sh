#!/bin/bash
# SPDX-License-Identifier: MIT
# hung_file.sh BUILD_DIR -- the command ends soon, and says what it knows, about a process that maps
# files which cannot be read, or not in any time: a pipe or a huge file at the path of a mapped one,
# an executable with endless tables of symbols, a file system that does not answer.
source "$(dirname "$0")/lib.bash"
# shellcheck source=tests/tool/hung.bash
source "$here/hung.bash"
needs python3
cc -g -O1 -pthread -Wl,-z,now -o hung_page "$here/hung_page.c" || fail "cc"

# ends STATUS SECONDS COMMAND...: it ends in this time, and so does who reads its output.
ends() {
    local wanted=$1 limit=$2 begin=$SECONDS got
    shift 2
    timeout -k 1 $((limit + 30)) "$@" 2>err | cat >out
    got=${PIPESTATUS[0]}
    [ "$got" = "$wanted" ] || {
        head -3 out err
        fail "$2: status $got, not $wanted"
    }
    [ $((SECONDS - begin)) -le "$limit" ] || fail "$2: $((SECONDS - begin)) s"
}

# looks: all that is asked about the process $pid.
looks() {
    ends 0 20 "$mallow" status "$pid"
    says out 'resident .* from malloc'
    ends 0 20 "$mallow" doctor "$pid"
    ends 0 20 "$mallow" report "$pid"
    ends 0 20 "$mallow" ls
    says out "^ *$pid "
}

# The file of a mapping is not there any more; at its path is what was put there then.
cat >mapped.py <<'END'
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
code = mmap.mmap(fd, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
block = bytearray(8 << 20)
os.rename(sys.argv[2], sys.argv[1])
print("ready", flush=True)
os.read(0, 1)
END
python=$(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))')
for kind in pipe sparse; do
    head -c 4096 /dev/zero >at.so
    case $kind in
    pipe) mkfifo other ;;
    sparse) truncate -s 1T other ;;
    esac
    mkfifo input
    MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so PYTHONMALLOC=malloc \
        "$python" mapped.py at.so other <input >said &
    pid=$!
    started+=("$pid")
    exec 5>input
    await 60 grep -qs ready said
    await 60 is_known "$pid"
    looks
    exec 5>&-
    await 60 has_ended "$pid"
    rm -f input at.so other said
    ok "$kind at the path of a mapped file"
done

# An executable whose 4,000 tables of symbols have 16 million each, in a hole of the file.
cat >endless.py <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
begin, size = 1 << 34, 400 << 20
row = "<IIQQQQIIQQ"
sections = [bytes(64), struct.pack(row, 0, 3, 0, 0, begin, size, 0, 0, 1, 0)]
sections += [struct.pack(row, 0, 2, 0, 0, begin, size, 1, 0, 8, 24)] * 4000
struct.pack_into("<Q", data, 40, len(data))
struct.pack_into("<HHH", data, 58, 64, len(sections), 1)
with open(sys.argv[2], "wb") as out:
    out.write(data + b"".join(sections))
    out.truncate(begin + size)
END
python3 endless.py "$(command -v sleep)" endless || fail "endless"
chmod +x endless
./endless 1000 &
pid=$!
started+=("$pid")
await 60 grep -qs endless "/proc/$pid/cmdline"
ends 1 40 "$mallow" doctor "$pid"
says out 'endless does not run mallow'
says out 'the file of endless cannot be read in time'
kill "$pid"
ok "endless tables of symbols"

if ! hang_folder; then
    leave_out "no file systems of FUSE for this user"
    exit
fi
# Without mallow.
cp hung_page plain_page
./plain_page map folder hung >said &
pid=$!
started+=("$pid")
await 60 grep -qs ready said
ends 1 20 "$mallow" doctor "$pid"
says out 'plain_page does not run mallow'
ends 2 20 "$mallow" status "$pid"
says err 'the process does not run mallow'
ends 2 20 "$mallow" report plain_page
ok "a file system that does not answer, without mallow"
rm hung.all
MALLOW_CONF=prof_state_min:0 LD_PRELOAD=$build/lib/libmallow.so ./hung_page map folder hung >with &
pid=$!
started+=("$pid")
await 60 grep -qs ready with
await 60 is_known "$pid"
looks
ok "a file system that does not answer, with mallow"
