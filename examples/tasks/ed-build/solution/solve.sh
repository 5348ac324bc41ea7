#!/bin/bash
set -eu
cd /app
cat >Makefile <<'EOF'
VERSION = 1.19
CC = gcc
CFLAGS = -Wall -W -O2
LDFLAGS =
prefix = /usr/local
objects = buffer.o carg_parser.o global.o io.o main.o main_loop.o regex.o signal.o

.PHONY: all check install clean
all: ed red

ed: $(objects)
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $(objects)

red: red.in
	cat red.in >$@
	chmod a+x $@

%.o: %.c
	$(CC) $(CPPFLAGS) $(CFLAGS) -DPROGVERSION=\"$(VERSION)\" -c -o $@ $<

$(objects): ed.h Makefile
carg_parser.o main.o: carg_parser.h

check: all
	./testsuite/check.sh testsuite $(VERSION)

install: all
	install -d $(DESTDIR)$(prefix)/bin
	install -m 755 ed red $(DESTDIR)$(prefix)/bin

clean:
	rm -rf ed red tmp $(objects)
EOF
make -s CFLAGS=-O0
make -s clean
