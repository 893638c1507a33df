#!/bin/bash
# SPDX-License-Identifier: MIT
# dropped_root.sh BUILD_DIR -- servers that begin as root and become another user, with the library
# preloaded: root's leaks, set, cpu, stop and status reach the process that serves, none of them
# waits in vain, and the server answers afterwards and ends as it should.
source "$(dirname "$0")/../tool/lib.bash"
if [ "$(id -u)" != 0 ]; then
    skip "it takes root to become another user"
fi
needs python3 curl
share_build
chmod 777 "$work"
user=nobody
group=$(id -gn $user)

# ask ADDRESS KIND HEX WANTED: sends bytes to a socket's path, or a port of this machine, and the
# answer begins with the bytes WANTED.
ask() {
    python3 - "$@" 2>/dev/null <<'END'
import socket, sys
address, kind, text, wanted = sys.argv[1:]
family = socket.AF_UNIX if address.startswith("/") else socket.AF_INET
s = socket.socket(family, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM)
s.settimeout(20)
s.connect(address if family == socket.AF_UNIX else ("127.0.0.1", int(address)))
s.send(bytes.fromhex(text))
sys.exit(not s.recv(4096).hex().startswith(wanted))
END
}
free_port() {
    python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])'
}

# serve COMMAND...: in the background; its pid is in $server.
serve() {
    MALLOW_CONF=prof_state_min:0,background_thread:false LD_PRELOAD=$build/lib/libmallow.so \
        "$@" >log 2>&1 &
    server=$!
    started+=("$server")
}
is_user() { [ "$(awk '/^Uid:/ { print $3 }' "/proc/$1/status")" = "$(id -u $user)" ]; }
# reached NAME PID COMMAND...: what root asks of the process; COMMAND then shows that it serves.
reached() {
    local name=$1 pid=$2 command got
    shift 2
    is_user "$pid" || fail "$name has not become $user"
    await 60 is_known "$pid"
    for command in 'set rate=64k' stop start reset 'cpu --for 0.2' status report threads; do
        # shellcheck disable=SC2086 # words
        try 0 timeout 100 "$mallow" $command "$pid"
    done
    timeout 500 "$mallow" leaks --wait 30 "$pid" >out 2>err
    got=$?
    [ "$got" -lt 2 ] || fail "$name: leaks: status $got"
    says out 'no leaks|leaked'
    "$@" || fail "$name does not answer any more"
    ok "$name"
}
# ends NAME STATUS: the server is asked to.
ends() {
    kill "$server"
    wait "$server"
    got=$?
    [ "$got" = "$2" ] || fail "$1: status $got, not $2: $(tail -n 3 log)"
}

if command -v memcached >/dev/null; then
    serve memcached -u $user -s "$work/memcached" -m 64
    # "version", and "VERSION" in the answer.
    answers() { ask "$work/memcached" tcp 76657273696f6e0d0a 56455253494f4e; }
    await 60 answers
    reached memcached "$server" answers
    ends memcached 0
else
    leave_out "memcached is not installed"
fi

if command -v nginx >/dev/null; then
    cat >nginx.conf <<END
daemon off; pid $work/nginx.pid; error_log $work/nginx.log; worker_processes 1; user $user $group;
events {}
http { access_log off; client_body_temp_path $work/b; proxy_temp_path $work/p;
fastcgi_temp_path $work/f; uwsgi_temp_path $work/u; scgi_temp_path $work/s;
server { listen unix:$work/nginx; location / { return 200; } } }
END
    serve nginx -p "$work" -c "$work/nginx.conf"
    answers() { curl -sf --unix-socket "$work/nginx" http://localhost/ >/dev/null; }
    await 60 answers
    reached nginx "$(pgrep -P "$server")" answers
    ends nginx 0
else
    leave_out "nginx is not installed"
fi

modules=/usr/lib/apache2/modules
if command -v apache2 >/dev/null && [ -d "$modules" ]; then
    mkdir site && echo hello >site/index.html
    port=$(free_port)
    cat >apache.conf <<END
ServerRoot $work
ServerName localhost
PidFile $work/apache.pid
Listen 127.0.0.1:$port
User $user
Group $group
ErrorLog $work/apache.log
LoadModule mpm_event_module $modules/mod_mpm_event.so
LoadModule authz_core_module $modules/mod_authz_core.so
StartServers 1
MaxSpareThreads 50
DocumentRoot $work/site
END
    serve apache2 -f "$work/apache.conf" -DFOREGROUND
    answers() { curl -sf "http://127.0.0.1:$port/index.html" >/dev/null; }
    await 60 answers
    reached apache2 "$(pgrep -P "$server" | sed -n 1p)" answers
    ends apache2 0
else
    leave_out "apache2 is not installed"
fi

if command -v unbound >/dev/null; then
    port=$(free_port)
    cat >unbound.conf <<END
server:
  interface: 127.0.0.1
  port: $port
  username: "$user"
  chroot: ""
  directory: "$work"
  pidfile: "$work/unbound.pid"
  use-syslog: no
  do-daemonize: no
  module-config: "iterator"
  local-zone: "test." static
remote-control:
  control-enable: no
END
    serve unbound -d -c "$work/unbound.conf"
    # Question 1234: A test.
    answers() { ask "$port" udp 12340100000100000000000004746573740000010001 1234; }
    await 60 answers
    reached unbound "$server" answers
    ends unbound 0
else
    leave_out "unbound is not installed"
fi

if command -v mosquitto >/dev/null; then
    port=$(free_port)
    cat >mosquitto.conf <<END
listener $port 127.0.0.1
allow_anonymous true
user $user
END
    serve mosquitto -c "$work/mosquitto.conf"
    # CONNECT of a client "a", protocol 3.1.1; CONNACK.
    answers() { ask "$port" tcp 100d00044d5154540402003c000161 20020000; }
    await 60 answers
    reached mosquitto "$server" answers
    ends mosquitto 0
else
    leave_out "mosquitto is not installed"
fi
