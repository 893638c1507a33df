#!/bin/bash
# SPDX-License-Identifier: MIT
# scripts.sh BUILD_DIR -- `mallow run --scripts` and `--objects`: which interpreter is recognised,
# what is set for it, and that functions of scripts are in the stacks then.
source "$(dirname "$0")/lib.bash"
unset NODE_OPTIONS JAVA_TOOL_OPTIONS PYTHONMALLOC USE_ZEND_ALLOC

# Programs with the names of interpreters print what is set for them.
mkdir bin
cat >bin/settings <<'END'
#!/bin/sh
echo "$NODE_OPTIONS|$JAVA_TOOL_OPTIONS|$PYTHONMALLOC|$USE_ZEND_ALLOC"
END
chmod +x bin/settings
for name in node java python3.12 python3.9 php8.2; do cp bin/settings bin/$name; done
ln -s python3.9 bin/python3
cat >bin/by-env <<'END'
#!/usr/bin/env node
END
printf '#!%s/bin/python3.12\n' "$work" >bin/by-path
printf '#!%s/bin/by-path\n' "$work" >bin/twice
chmod +x bin/by-env bin/by-path bin/twice
path=$work/bin:$PATH
node_words='--perf-basic-prof-only-functions --interpreted-frames-native-stack'
java_words='-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions'
java_words+=' -XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit'

# sets WANTED WORD...: what the program prints when it is run with these words.
sets() {
    local want=$1 got
    shift
    PATH=$path "$mallow" run "$@" >out 2>err || fail "$*: status $?"
    got=$(cat out)
    [ "$got" = "$want" ] || fail "$*: '$got', not '$want'"
}
sets "$node_words|||" --scripts node app.js
says err "^mallow: run: set: NODE_OPTIONS='$node_words'\$"
sets "|$java_words||" --scripts -- java Main
sets "|||" --scripts python3 app.py
says err '^mallow: run: nothing to set for python3$'
sets "|||" --scripts --quiet python3 app.py
says_not err ': run: '
sets "||malloc|" --objects python3 app.py
sets "||malloc|" --scripts --objects python3.12 app.py
says err '^mallow: run: set: PYTHONMALLOC=malloc$'
sets "|||0" --objects php8.2 app.php
sets "|||" php8.2 app.php
sets "$node_words|||" --scripts env -u HOME A=b node app.js
sets "$node_words|||" --scripts by-env
sets "||malloc|" --objects by-path
sets "||malloc|" --objects twice
sets "$node_words|$java_words|malloc|0" --scripts --objects settings
says err "^mallow: run: settings is no interpreter that mallow knows; set for those that it starts"
ok "interpreters are recognised by name, link, #! line and behind env"

# What the user set is kept; of contradicting options the last is used.
mine='--max-old-space-size=900 --perf-basic-prof-only-functions'
NODE_OPTIONS=$mine sets "--interpreted-frames-native-stack $mine|||" --scripts node app.js
says err "set: NODE_OPTIONS='--interpreted-frames-native-stack' before yours\$"
NODE_OPTIONS=$node_words sets "$node_words|||" --scripts node app.js
says err 'set: NODE_OPTIONS as before$'
PYTHONMALLOC=debug sets '||debug|' --objects python3 app.py
says err 'set: PYTHONMALLOC=debug as before$'
ok "the user's settings are kept"

try 127 "$mallow" run --scripts "$work/bin/absent"
says err 'absent: cannot start'
try 2 "$mallow" run --scripts
ok "errors"

# share NAME: percent of all bytes whose stacks have a function with these words, in ./out.
share() {
    awk -v name="$1" 'index($0, name) && match($0, /%  [^%]*$/) {
        left = substr($0, 1, RSTART - 1); sub(/.* /, "", left); print int(left); exit }' out
}
# has_stacks FUNCTION AT_LEAST: in ./profile.pb.gz; and less than 2 % of the bytes have stacks that
# were cut.
has_stacks() {
    try 0 "$mallow" report --all --sample-type alloc_space profile.pb.gz
    local cut has
    cut=$(share '  [truncated]')
    has=$(share "  $1")
    [ "${cut:-0}" -lt 2 ] || fail "$cut % of the bytes have stacks that were cut"
    [ "${has:-0}" -ge "$2" ] || fail "${has:-0} % of the bytes are below $1"
}
# Deep stacks are not cut here.
export MALLOW_CONF=prof_seed:1,prof_bt_max:512

if command -v node >/dev/null; then
    cat >app.js <<'END'
const zlib = require("zlib");
function packOften(n) {
    let bytes = 0;
    for (let i = 0; i < n; i++) bytes += zlib.deflateSync(Buffer.alloc(3000, i)).length;
    return bytes;
}
packOften(1000);
END
    try 0 "$mallow" run --scripts -o profile.pb.gz --rate 16k -- node app.js
    # Whose the memory at the peak is.
    says err ' < packOften app\.js:2:19'
    says_not err 'node::|Builtins_'
    has_stacks 'packOften app.js:2:19' 50
    # The place stands there once.
    says_not out 'app.js:2:19 .*app.js'
    [ -z "$(ls ./*.log 2>/dev/null)" ] || fail "node left a log: $(ls)"
    ok "node: its functions, and no log"
else
    leave_out "no node"
fi

# A Python that has trampolines for perf without a frame pointer: of the path, or of pyenv. Stacks
# pass them, and the functions have their names from the interpreter.
python=
for candidate in python3 python3.12 python3.13 \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.1[23]*/bin/python3; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' \
        2>/dev/null; then
        python=$candidate
        break
    fi
done
if [ -n "$python" ]; then
    cat >app.py <<'END'
def inner(n):
    return [str(i) * 20 for i in range(n)]
def outer():
    return [inner(2000) for i in range(50)]
outer()
END
    try 0 env PYTHONPERFSUPPORT=1 "$mallow" run --scripts --objects -o profile.pb.gz --rate 32k \
        -- "$python" app.py
    has_stacks outer 60
    ok "python: whole stacks through its trampolines"
else
    leave_out "no python3.12 or python3.13"
fi

if command -v java >/dev/null && command -v javac >/dev/null; then
    cat >Packing.java <<'END'
import java.util.zip.Deflater;
public class Packing {
    static int pack(int i) {
        byte[] bytes = new byte[3000];
        for (int k = 0; k < bytes.length; k++) bytes[k] = (byte) (k * i);
        Deflater deflater = new Deflater();
        deflater.setInput(bytes);
        deflater.finish();
        int count = deflater.deflate(new byte[4000]);
        deflater.end();
        return count;
    }
    static long packOften(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) sum += pack(i);
        return sum;
    }
    public static void main(String[] arguments) { System.out.println(packOften(4000)); }
}
END
    try 0 javac Packing.java
    try 0 "$mallow" run --scripts -o profile.pb.gz --rate 16k -- java -cp . Packing
    has_stacks 'int Packing.pack(int)' 50
    ok "java: whole stacks through compiled code"
else
    leave_out "no java or no javac"
fi

# Leaks of C code name the line of the script that called it, without the interpreter's frames.
if command -v python3 >/dev/null; then
    cat >leaky.c <<'END'
#include <stdlib.h>
#include <string.h>
void make_block(int size) { memset(malloc((size_t)size), 1, (size_t)size); }
END
    cc -g -O0 -fno-builtin -shared -fPIC -o libleaky.so leaky.c || fail "leaky.c does not compile"
    cat >leaky.py <<'END'
import ctypes
library = ctypes.CDLL("./libleaky.so")
def leaks_here():
    library.make_block(54321)
for i in range(3):
    leaks_here()
END
    unset MALLOW_CONF
    try 1 "$mallow" run --leaks -o leaks.pb.gz -- python3 leaky.py
    grep -A12 make_block err >leak || fail "the leak is not found"
    grep -q 'leaks_here .*leaky.py:4$' leak || fail "no line of the script: $(cat leak)"
    grep -q '_PyEval' leak && fail "frames of the interpreter: $(cat leak)"
    ok "a leak of C code names the script's line"
else
    leave_out "no python3"
fi
