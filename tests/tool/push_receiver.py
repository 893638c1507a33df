#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""push_receiver.py PORT_FILE TLS_PORT_FILE CERTIFICATE -- takes profiles as Pyroscope and receivers
of OpenTelemetry do.
push_receiver.py --decode FILE -- decodes a saved request of OpenTelemetry, or says why not.
push_receiver.py --mutate FILE -- gives each field of it a wrong number, one after the other, and
counts those that --decode takes nevertheless.

Decoding is strict: a field that the schema below does not have, or that has another wire type, is
an error, and so are indexes beyond a table and entries 0 that are not empty.  Each request goes to
./requests, a JSON object a line, and its plain body to ./body.N.  The file ./answers says how to
answer: the first line is taken off for each request.  Words: STATUS [RETRY-AFTER]; "cut", the
connection ends within the answer; "hold", the request is counted and never answered; "lose", it is
neither.  What was counted goes to ./counted: lines ID TYPE SUM."""
import base64
import gzip
import http.server
import json
import os
import ssl
import struct
import sys
import threading
import time

# Message: {field number: (name, type)}.  A list in the place of the type: repeated.
OTLP = {
    "request": {1: ("resource_profiles", ["resource_profiles"]), 2: ("dictionary", "dictionary")},
    "resource_profiles": {1: ("resource", "resource"), 2: ("scope_profiles", ["scope_profiles"])},
    "resource": {1: ("attributes", ["key_value"])},
    "key_value": {1: ("key", "text"), 2: ("value", "any_value")},
    "any_value": {1: ("string_value", "text")},
    "scope_profiles": {1: ("scope", "scope"), 2: ("profiles", ["profile"])},
    "scope": {1: ("name", "text"), 2: ("version", "text")},
    "profile": {1: ("sample_type", "value_type"), 2: ("samples", ["sample"]),
                3: ("time_unix_nano", "fixed64"), 4: ("duration_nano", "number"),
                5: ("period_type", "value_type"), 6: ("period", "number"),
                7: ("profile_id", "bytes")},
    "value_type": {1: ("type", "number"), 2: ("unit", "number")},
    "sample": {1: ("stack", "number"), 4: ("values", "packed")},
    "dictionary": {1: ("mapping", ["mapping"]), 2: ("location", ["location"]),
                   3: ("function", ["function"]), 4: ("link", ["link"]), 5: ("string", ["text"]),
                   6: ("attribute", ["attribute"]), 7: ("stack", ["stack"])},
    "mapping": {1: ("start", "number"), 2: ("limit", "number"), 3: ("offset", "number"),
                4: ("filename", "number"), 5: ("attributes", "packed")},
    "location": {1: ("mapping", "number"), 2: ("address", "number"), 3: ("lines", ["line"])},
    "line": {1: ("function", "number"), 2: ("line", "number")},
    "function": {1: ("name", "number"), 2: ("system_name", "number"), 3: ("filename", "number"),
                 4: ("start_line", "number")},
    "link": {},
    "attribute": {1: ("key", "number"), 2: ("value", "any_value")},
    "stack": {1: ("locations", "packed")},
}
PPROF = {
    "profile": {1: ("sample_type", ["value_type"]), 2: ("sample", ["sample"]),
                3: ("mapping", ["mapping"]), 4: ("location", ["location"]),
                5: ("function", ["function"]), 6: ("string", ["text"]), 9: ("time", "number"),
                10: ("duration", "number"), 11: ("period_type", "value_type"),
                12: ("period", "number"), 14: ("default_type", "number")},
    "value_type": {1: ("type", "number"), 2: ("unit", "number")},
    "sample": {1: ("locations", "packed"), 2: ("values", "packed")},
    "mapping": {1: ("id", "number"), 2: ("start", "number"), 3: ("limit", "number"),
                4: ("offset", "number"), 5: ("filename", "number"), 6: ("build_id", "number"),
                7: ("has_functions", "number"), 8: ("has_files", "number"),
                9: ("has_lines", "number"), 10: ("has_inline", "number")},
    "location": {1: ("id", "number"), 2: ("mapping", "number"), 3: ("address", "number"),
                 4: ("lines", ["line"]), 5: ("is_folded", "number")},
    "line": {1: ("function", "number"), 2: ("line", "number")},
    "function": {1: ("id", "number"), 2: ("name", "number"), 3: ("system_name", "number"),
                 4: ("filename", "number"), 5: ("start_line", "number")},
}
WIRE = {"number": 0, "fixed64": 1}


class Bad(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Bad(what)


def varint(data, at):
    value = shift = 0
    while True:
        need(at < len(data) and shift < 70, "a number does not end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value & (1 << 64) - 1, at


def fields(data):
    """(place of the key, number, wire type, value) of each field."""
    at = 0
    while at < len(data):
        place = at
        key, at = varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = varint(data, at)
        elif wire == 1:
            need(at + 8 <= len(data), "a field does not end")
            value, at = struct.unpack_from("<Q", data, at)[0], at + 8
        else:
            need(wire == 2, "wire type %d" % wire)
            length, at = varint(data, at)
            need(at + length <= len(data), "a field does not end")
            value, at = data[at:at + length], at + length
        yield place, key >> 3, wire, value


def decode(schema, message, data):
    known = schema[message]
    found = {name: [] for name, kind in known.values() if isinstance(kind, list)}
    for _, number, wire, value in fields(data):
        need(number in known, "%s has no field %d" % (message, number))
        name, kind = known[number]
        inner = kind[0] if isinstance(kind, list) else kind
        need(wire == WIRE.get(inner, 2), "%s.%s has wire type %d" % (message, name, wire))
        if inner == "text":
            value = value.decode("utf-8")
        elif inner == "packed":
            numbers, at = [], 0
            while at < len(value):
                one, at = varint(value, at)
                numbers.append(one - (1 << 64) if one >> 63 else one)
            value = numbers
        elif inner in schema:
            value = decode(schema, inner, value)
        if isinstance(kind, list):
            found[name].append(value)
        else:
            need(name not in found, "%s.%s occurs twice" % (message, name))
            found[name] = value
    return found


def at(table, index, what):
    need(0 <= index < len(table), "%s: index %d of %d" % (what, index, len(table)))
    return table[index]


def read_otlp(data):
    """What a request says, in plain words."""
    request = decode(OTLP, "request", data)
    tables = request.get("dictionary") or {}
    strings = tables.get("string", [])
    for name in ("mapping", "location", "function", "link", "attribute", "stack"):
        need(tables.get(name), "the table %s is empty" % name)
        need(not any(tables[name][0].values()), "entry 0 of the table %s is not" % name)
    need(strings and strings[0] == "", "string 0 is not empty")
    for mapping in tables["mapping"][1:]:
        at(strings, mapping.get("filename", 0), "filename")
        for index in mapping.get("attributes", []):
            attribute = at(tables["attribute"], index, "attribute")
            key = at(strings, attribute.get("key", 0), "key")
            need(key == "process.executable.build_id.gnu" and
                 attribute["value"]["string_value"], "attribute %s" % key)
    need(all("mapping" in l or "lines" in l for l in tables["location"][1:]), "empty location")
    for location in tables["location"]:
        at(tables["mapping"], location.get("mapping", 0), "mapping")
        for line in location["lines"]:
            function = at(tables["function"], line.get("function", 0), "function")
            need(at(strings, function.get("name", 0), "name") != "", "a line without a name")
    for function in tables["function"]:
        for key in "system_name", "filename":
            at(strings, function.get(key, 0), key)
        need("start_line" not in function or "filename" in function, "a line of no file")
    for stack in tables["stack"]:
        for index in stack.get("locations", []):
            need(index > 0, "location 0 in a stack")
            at(tables["location"], index, "location")
    need(len(request["resource_profiles"]) == 1, "not one resource")
    resource = request["resource_profiles"][0]
    labels = {a["key"]: a["value"]["string_value"] for a in resource["resource"]["attributes"]}
    need(len(labels) == len(resource["resource"]["attributes"]), "an attribute occurs twice")
    need(labels.get("service.name"), "no service.name")
    profiles = []
    for scope in resource["scope_profiles"]:
        need(scope["scope"].get("name") == "mallow" and scope["scope"].get("version"), "scope")
        for p in scope["profiles"]:
            for sample in p["samples"]:
                need(len(sample.get("values", [])) == 1, "not one value")
                need(sample.get("stack", 0) > 0, "a sample without a stack")
                at(tables["stack"], sample["stack"], "stack")
            need(len(p.get("profile_id", b"")) == 16, "profile_id")
            need(p.get("period", 0) > 0, "period 0")
            need(p.get("time_unix_nano", 0) > 10**18, "time")
            kind = p["sample_type"]
            profiles.append({
                "id": p["profile_id"].hex(), "type": at(strings, kind.get("type", 0), "type"),
                "unit": at(strings, kind.get("unit", 0), "unit"),
                "period_type": at(strings, p["period_type"].get("type", 0), "type") + ":" +
                at(strings, p["period_type"].get("unit", 0), "unit"),
                "duration": p.get("duration_nano", 0), "samples": len(p["samples"]),
                "negative": sum(s["values"][0] < 0 for s in p["samples"]),
                "sum": sum(s["values"][0] for s in p["samples"])})
            need(profiles[-1]["type"] and profiles[-1]["unit"], "no type")
    return {"labels": labels, "profiles": profiles, "functions": strings}


def read_pyroscope(data):
    request = json.loads(data)
    need(set(request) == {"series"} and len(request["series"]) == 1, "not one series")
    series = request["series"][0]
    need(set(series) == {"labels", "samples"} and len(series["samples"]) == 1, "series")
    labels = {}
    for label in series["labels"]:
        need(set(label) == {"name", "value"}, "label")
        need(label["name"] not in labels, "label %s occurs twice" % label["name"])
        need(all(c.isascii() and (c.isalnum() or c == "_") for c in label["name"]) and
             not label["name"][0].isdigit(), "name of the label %r" % label["name"])
        labels[label["name"]] = label["value"]
    need(labels.get("__name__") and labels.get("service_name"), "no name")
    need(labels.get("__delta__") == "false", "the server would subtract once more")
    sample = series["samples"][0]
    need(set(sample) == {"ID", "rawProfile"}, "sample")
    parts = sample["ID"].split("-")
    need([len(p) for p in parts] == [8, 4, 4, 4, 12] and int("".join(parts), 16), "ID")
    packed = base64.b64decode(sample["rawProfile"], validate=True)
    p = decode(PPROF, "profile", gzip.decompress(packed))
    strings = p["string"]
    need(strings and strings[0] == "", "string 0 is not empty")
    for name in "mapping", "location", "function":
        need([e["id"] for e in p[name]] == list(range(1, len(p[name]) + 1)), "ids of " + name)
    for sample_ in p["sample"]:
        need(len(sample_["values"]) == len(p["sample_type"]), "number of values")
        for index in sample_.get("locations", []):
            need(index > 0, "location 0")
            at(p["location"], index - 1, "location")
    for location in p["location"]:
        need(location.get("mapping", 0) <= len(p["mapping"]), "mapping")
        for line in location["lines"]:
            at(strings, at(p["function"], line["function"] - 1, "function")["name"], "name")
    name = labels["__name__"]
    kind = p["period_type"]
    profiles = []
    for i, t in enumerate(p["sample_type"]):
        profiles.append({"id": sample["ID"] + "/%d" % i,
                         "type": name + ":" + at(strings, t["type"], "type"),
                         "unit": at(strings, t["unit"], "unit"),
                         "period_type": strings[kind["type"]] + ":" + strings[kind["unit"]],
                         "duration": p.get("duration", 0), "samples": len(p["sample"]),
                         "negative": sum(s["values"][i] < 0 for s in p["sample"]),
                         "sum": sum(s["values"][i] for s in p["sample"])})
    return {"labels": labels, "profiles": profiles, "functions": strings}


def mutate(data):
    """Counts the fields whose number can be made one larger without a complaint."""
    places = []

    def walk(message, start, end):
        for place, number, wire, value in fields(data[start:end]):
            places.append((message, number, start + place))
            if number not in OTLP[message] or wire != 2:
                continue
            kind = OTLP[message][number][1]
            inner = kind[0] if isinstance(kind, list) else kind
            if inner in OTLP:
                _, after = varint(data, start + place)
                _, after = varint(data, after)
                walk(inner, after, after + len(value))

    walk("request", 0, len(data))
    tried, taken = {}, []
    for message, number, place in places:
        # A wrong writer is wrong everywhere: twice for each field is enough.
        tried[message, number] = tried.get((message, number), 0) + 1
        if tried[message, number] > 2:
            continue
        for other in {number + 1, 15} - {number}:
            changed = bytearray(data)
            changed[place] = other << 3 | data[place] & 7
            try:
                read_otlp(bytes(changed))
                taken.append((message, number, other))
            except (Bad, KeyError, UnicodeDecodeError):
                pass
    return len(tried), taken


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    count = 0

    def do_POST(self):
        plain = body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            plain = gzip.decompress(body)
        Handler.count += 1
        open("body.%d" % Handler.count, "wb").write(plain)
        line = {"path": self.path, "authorization": self.headers.get("Authorization"),
                "tenant": self.headers.get("X-Scope-OrgID"), "time": time.monotonic(),
                "number": Handler.count}
        answers = open("answers").read().split("\n") if os.path.exists("answers") else []
        words = answers[0].split() if answers and answers[0] else ["200"]
        open("answers", "w").write("\n".join(answers[1:]))
        try:
            if self.path.endswith("/v1development/profiles"):
                need(self.headers["Content-Type"] == "application/x-protobuf", "Content-Type")
                line.update(read_otlp(plain))
            elif self.path.endswith("/push.v1.PusherService/Push"):
                need(self.headers["Content-Type"] == "application/json", "Content-Type")
                line.update(read_pyroscope(plain))
            else:
                raise Bad("path")
        except (Bad, KeyError, ValueError, OSError) as error:
            line["bad"] = repr(error)
            words = ["400"]
        line["answer"] = words
        if words[0] in ("200", "cut", "hold") and "profiles" in line:
            for p in line["profiles"]:
                with open("counted", "a") as file:
                    file.write("%s %s %d\n" % (p["id"], p["type"], p["sum"]))
        with open("requests", "a") as file:
            file.write(json.dumps(line) + "\n")
        self.answer(words)

    def answer(self, words):
        if words[0] in ("hold", "lose"):
            while True:
                time.sleep(60)
        json_in = self.path.endswith("Push")
        text = b"{}" if json_in else b""
        if words[0] == "rejects":
            text = b"\x0a\x0a\x08\x02\x12\x06no way"
        elif words[0] not in ("200", "cut"):
            text = b"says the receiver: \x1b[31m%s" % words[0].encode()
        if words[0] == "cut":
            text = b"0123456789"
        self.send_response(int(words[0]) if words[0].isdigit() else 200)
        if len(words) > 1:
            self.send_header("Retry-After", words[1])
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text[:3] if words[0] == "cut" else text)
        if words[0] == "cut":
            self.wfile.flush()
            self.close_connection = True

    def log_message(self, *args):
        pass


def serve(port_file, context=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context is not None:
        # The handshake in the connection's own thread.
        server.socket = context.wrap_socket(server.socket, server_side=True,
                                            do_handshake_on_connect=False)
    open(port_file + ".new", "w").write(str(server.server_port))
    os.rename(port_file + ".new", port_file)
    server.serve_forever()


def main():
    if sys.argv[1] == "--decode":
        read_otlp(open(sys.argv[2], "rb").read())
    elif sys.argv[1] == "--mutate":
        fields_, taken = mutate(open(sys.argv[2], "rb").read())
        print(fields_, "fields;", "taken with a wrong number:", taken)
        sys.exit(1 if taken or fields_ < 30 else 0)
    else:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(sys.argv[3])
        threading.Thread(target=serve, args=(sys.argv[2], context), daemon=True).start()
        serve(sys.argv[1])


main()
