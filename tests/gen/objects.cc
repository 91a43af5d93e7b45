// objects: a shop whose inventory only grows, in C++; prints "ready" and waits to be killed.
//
//     shop::Book                      50000, each with a title of its own
//     shop::Shelf<std::map<...>>      10000, behind an anonymous base
//     std::string buffer              50000 titles and 1000 values of the cache
#include <unistd.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace shop {

struct Item {
    virtual ~Item() {}
    virtual int price() const { return 1; }
    long counters[5] = {};
};

struct Book : Item {
    int price() const override { return 2; }
    std::string title;
};

template <class T> struct Shelf : Item {
    T value;
};

}  // namespace shop

std::vector<std::unique_ptr<shop::Item>> inventory;
std::unordered_map<std::string, std::string> cache;

__attribute__((noinline)) static void fill() {
    for (int i = 0; i < 50000; i++) {
        auto book = std::make_unique<shop::Book>();
        book->title = "a rather long title of a book, number " + std::to_string(i);
        inventory.push_back(std::move(book));
        if (i % 5 == 0)
            inventory.push_back(std::make_unique<shop::Shelf<std::map<std::string, int>>>());
    }
    for (int i = 0; i < 1000; i++)
        cache[std::to_string(i)] = std::string(300, static_cast<char>(0x80 | i));
}

int main() {
    fill();
    std::puts("ready");
    std::fflush(stdout);
    for (;;)
        pause();
}
