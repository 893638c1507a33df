# SPDX-License-Identifier: MIT
# The front door.  Each target is one script, so that everything also runs where make is not there
# yet: `scripts/demo.sh` is `make demo`.
PREFIX ?= /usr/local
DESTDIR ?=

.PHONY: all demo test check fuzz bench install deb dist site format lint clean help

all:
	@scripts/build.sh release

demo:
	@scripts/demo.sh

test:
	@scripts/test.sh

check:
	@scripts/check.sh

fuzz:
	@scripts/fuzz.sh

bench:
	@scripts/bench.sh

install: all
	@DESTDIR="$(DESTDIR)" cmake --install build --prefix "$(PREFIX)"

deb:
	@scripts/deb.sh

dist:
	@scripts/dist.sh

site: all
	@scripts/site.sh

format:
	@scripts/format.sh

lint:
	@scripts/lint.sh

clean:
	@rm -rf build build-*

help:
	@echo "make            build/lib/libmallow.so, build/lib/libmallow.a, build/bin/mallow"
	@echo "make demo       profile a real program and print the report"
	@echo "make test       the units, the misuse tests and the command's tests, in minutes"
	@echo "make check      every test and check; the last line counts them"
	@echo "make fuzz       searches for inputs that do harm, a minute a target"
	@echo "make bench      time and memory against glibc's malloc and its peers, in turns"
	@echo "make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)"
	@echo "make deb        Debian packages in build/packages/"
	@echo "make dist       a tar ball of the sources in build/dist/"
	@echo "make site       the documents as static pages in build/site/"
	@echo "make format     clang-format over all sources"
	@echo "make lint       clang-tidy, shellcheck, style checks"
