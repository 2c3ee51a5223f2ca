// SPDX-License-Identifier: GPL-2.0-or-later
#include "interchange/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mano::interchange {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Fields = std::vector<std::string>;

std::vector<Fields> all(std::string_view text) {
    CsvReader reader(text, "f.csv");
    std::vector<Fields> records;
    while (true) {
        auto record = reader.next();
        if (!record) {
            ADD_FAILURE() << record.error().text();
            return records;
        }
        if (!*record) return records;
        records.push_back((*record)->fields);
    }
}

std::string error_of(std::string_view text) {
    CsvReader reader(text, "f.csv");
    while (true) {
        auto record = reader.next();
        if (!record) {
            EXPECT_EQ(record.error().code, Code::hostile);
            return record.error().message;
        }
        if (!*record) return "";
    }
}

TEST(CsvReader, Records) {
    EXPECT_THAT(all("a,b\r\nc,d\r\n"), ElementsAre(Fields{"a", "b"}, Fields{"c", "d"}));
    EXPECT_THAT(all("a,b\nc,d"), ElementsAre(Fields{"a", "b"}, Fields{"c", "d"}));
    EXPECT_THAT(all("\xEF\xBB\xBF"
                    "a,\n"),
                ElementsAre(Fields{"a", ""}));
    EXPECT_THAT(all("\"a\"\"b\",\"c,d\r\ne\"\r\n"), ElementsAre(Fields{"a\"b", "c,d\r\ne"}));
    EXPECT_THAT(all("\"\",\"\""), ElementsAre(Fields{"", ""}));
    EXPECT_THAT(all(""), ElementsAre());
    EXPECT_THAT(all("\n"), ElementsAre(Fields{""}));
}

TEST(CsvReader, LinesAreCountedThroughQuotedBreaks) {
    CsvReader reader("\"a\nb\"\nc\n", "f.csv");
    EXPECT_EQ((*reader.next())->line, 1U);
    EXPECT_EQ((*reader.next())->line, 3U);
}

TEST(CsvReader, FaultsNameTheirPlace) {
    EXPECT_THAT(error_of("a,b\nc,d\"e\n"), HasSubstr("f.csv:2: column 2: a quote inside"));
    EXPECT_THAT(error_of("a,\"b\"c\n"), HasSubstr("f.csv:1: column 2: text after the closing"));
    EXPECT_THAT(error_of("a\nb,\"c\nd"), HasSubstr("f.csv:2: column 2: the quote that opens"));
    EXPECT_THAT(error_of("a\rb\n"), HasSubstr("f.csv:1: a carriage return"));
    EXPECT_THAT(error_of("a,\xff\n"), HasSubstr("f.csv:1: column 2: byte 1 of the field (0xff)"));
    EXPECT_THAT(error_of(std::string("a\0b\n", 4)), HasSubstr("NUL"));
    EXPECT_THAT(error_of(std::string(5000, 'x')), HasSubstr("more than 4096 bytes"));
    EXPECT_THAT(error_of("\"" + std::string(5000, 'x')), HasSubstr("more than 4096 bytes"));
    EXPECT_THAT(error_of(std::string(100, ',')), HasSubstr("more than 64 columns"));
}

TEST(Utf8, OnlyWhatTheRfcAllows) {
    EXPECT_EQ(valid_utf8("a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 10U);
    for (const std::string_view bad : {"\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
                                       "\xe0\x80\x80", "\x80", "\xc3", "\xf0\x9f"}) {
        EXPECT_EQ(valid_utf8(bad), 0U);
    }
}

}  // namespace
}  // namespace mano::interchange
