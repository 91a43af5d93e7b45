# corefrag: plain GNU make. Everything that is built lands in build/; see `make help`.

VERSION := 0.1
FLAVOR ?= release
B := build/$(FLAVOR)
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= cc
AR ?= ar
PKGS := libelf libdw sqlite3 libarchive smartcols

CPPFLAGS_ALL := -Iinclude -Isrc -I$(B) -D_GNU_SOURCE -DCF_VERSION='"$(VERSION)"' \
	$(shell pkg-config --cflags $(PKGS) 2>/dev/null)
WARN := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith \
	-Wundef -Wvla -Wformat=2
CFLAGS_release := -O2 -g -D_FORTIFY_SOURCE=2
CFLAGS_asan := -O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=all
LDFLAGS_asan := -fsanitize=address,undefined
CFLAGS_ALL := -std=gnu11 $(WARN) $(if $(WERROR),-Werror) $(CFLAGS_$(FLAVOR)) -pthread $(CFLAGS)
LDLIBS := $(shell pkg-config --libs $(PKGS) 2>/dev/null) -lm
LDFLAGS_ALL := $(LDFLAGS_$(FLAVOR)) -pthread $(LDFLAGS)

LIB_SRC := $(filter-out src/cli/%,$(wildcard src/*/*.c))
CLI_SRC := $(wildcard src/cli/*.c)
SCHEMA_SQL := $(sort $(wildcard schema/*.sql))
LIB_OBJ := $(LIB_SRC:%.c=$(B)/%.o)
CLI_OBJ := $(CLI_SRC:%.c=$(B)/%.o)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
UNIT_BIN := $(UNIT_SRC:tests/unit/%.c=$(B)/tests/unit/%)
UNIT_HELP := $(patsubst %.c,$(B)/%.o,$(filter-out $(UNIT_SRC),$(wildcard tests/unit/*.c)))

.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all clean lint test-unit

all: build/corefrag build/libcorefrag.a

build/corefrag: $(B)/corefrag
	@ln -sfn $(FLAVOR)/corefrag $@
build/libcorefrag.a: $(B)/libcorefrag.a
	@ln -sfn $(FLAVOR)/libcorefrag.a $@

$(B)/corefrag: $(CLI_OBJ) $(B)/libcorefrag.a
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS)

$(B)/libcorefrag.a: $(LIB_OBJ)
	@rm -f $@
	$(AR) rcs $@ $^

# Objects are made again when the flags change.
FLAGS_NOW := $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL)
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(subst ','\'',$(FLAGS_NOW))' | cmp -s - $@ || echo '$(subst ','\'',$(FLAGS_NOW))' > $@
FORCE:

$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<

# The schema is embedded as one C string.
$(B)/src/store/schema.o: $(B)/schema_sql.h
$(B)/schema_sql.h: $(SCHEMA_SQL) $(B)/flags
	@mkdir -p $(@D)
	@{ echo 'static const char schema_sql[] ='; \
	   cat $(SCHEMA_SQL) /dev/null | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/'; echo ';'; } > $@

$(B)/tests/unit/%: $(B)/tests/unit/%.o $(UNIT_HELP) $(B)/libcorefrag.a
	$(CC) $(CFLAGS_ALL) $(LDFLAGS_ALL) -o $@ $^ $(LDLIBS) -lcmocka

test-unit: $(UNIT_BIN)
	@fail=0; for t in $(UNIT_BIN); do $$t || fail=1; done; exit $$fail

lint:
	@for s in $(wildcard tests/lint/*.sh); do sh $$s || exit 1; done

clean:
	rm -rf build

-include $(LIB_OBJ:.o=.d) $(CLI_OBJ:.o=.d) $(UNIT_BIN:=.d)
