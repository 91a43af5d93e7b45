# The truth program: one binary, many scenarios. It runs on the system's own malloc, so it is built
# without sanitizers whatever the flavor, and bound early (a lazy binding would dirty a page in the
# middle of a measurement).

TRUTH_SRC := $(wildcard tests/gen/truth/*.c)

# The stand-ins are preloaded by name, so the program looks for libraries beside itself.
STANDINS := build/gen/libtcmalloc_minimal.so.4 build/gen/libmimalloc.so.2

gen check test-e2e: build/gen/truth build/gen/truth-static $(STANDINS)

build/gen/truth: $(TRUTH_SRC) $(wildcard tests/gen/truth/*.h) tests/tests.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(if $(WERROR),-Werror) -O1 -g -fno-builtin -pthread \
		-Wl,-z,now,-rpath,'$$ORIGIN' -o $@ $(TRUTH_SRC)

# The same without a libc of its own in the process: malloc's data stands in the program's.
build/gen/truth-static: $(TRUTH_SRC) $(wildcard tests/gen/truth/*.h) tests/tests.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE -DTRUTH_STATIC $(WARN) $(if $(WERROR),-Werror) -O1 -g \
		-fno-builtin -pthread -static -s -o $@ $(TRUTH_SRC)

$(STANDINS): tests/gen/standin/standin.c tests/tests.mk
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(WARN) $(if $(WERROR),-Werror) -O1 -g -fno-builtin -pthread \
		-shared -fPIC -Wl,-soname,$(@F) -o $@ $<

# The same program of C++ with its symbols, and without them.
gen check test-e2e: build/gen/objects build/gen/objects-stripped

build/gen/objects: tests/gen/objects.cc tests/tests.mk
	@mkdir -p $(@D)
	$(call say,CXX) $(CXX) -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) -O1 -g -o $@ $<

gen check test-e2e: build/gen/ghosts

build/gen/ghosts: tests/gen/ghosts.cc tests/tests.mk
	@mkdir -p $(@D)
	$(call say,CXX) $(CXX) -std=c++17 -Wall -Wextra $(if $(WERROR),-Werror) -O0 -g -fno-builtin \
		-o $@ $<

build/gen/objects-stripped: build/gen/objects
	$(call say,STRIP) strip -o $@ $<
