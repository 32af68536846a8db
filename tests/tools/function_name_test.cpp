// How sentences name functions.
#include "report_command/function_name.h"

#include <gtest/gtest.h>

namespace snug::tool {
namespace {

TEST(FunctionName, ParametersAndQualifiersGo) {
  EXPECT_EQ(short_name("ns::Book::find(int) const"), "ns::Book::find");
  EXPECT_EQ(short_name("ns::Book::take() const &"), "ns::Book::take");
  EXPECT_EQ(short_name("ns::Book::take() &&"), "ns::Book::take");
  EXPECT_EQ(short_name("(anonymous namespace)::keep(std::function<void (int)>, char*)"), "(anonymous namespace)::keep");
  EXPECT_EQ(short_name("split(std::basic_string_view<char, std::char_traits<char> >, char)"), "split");
}

TEST(FunctionName, TemplatesKeepTheirArguments) {
  EXPECT_EQ(short_name("Pool<int, 4>::make(int)"), "Pool<int, 4>::make");
  EXPECT_EQ(short_name("Call<void (int)>::run()"), "Call<void (int)>::run");
}

TEST(FunctionName, ResultsOfTemplatesGo) {
  EXPECT_EQ(short_name("unsigned long (anonymous namespace)::write_part<1>(int)"),
            "(anonymous namespace)::write_part<1>");
  EXPECT_EQ(short_name("std::vector<int, std::allocator<int> > ns::make<int>(int)"), "ns::make<int>");
  EXPECT_EQ(short_name("bool ns::operator< <int>(int const&)"), "ns::operator< <int>");
  EXPECT_EQ(short_name("ns::Job::operator unsigned long() const"), "ns::Job::operator unsigned long");
}

TEST(FunctionName, OperatorsAndLambdasKeepTheirNames) {
  EXPECT_EQ(short_name("Job::operator()(int) const"), "Job::operator()");
  EXPECT_EQ(short_name("Job::operator()"), "Job::operator()");
  EXPECT_EQ(short_name("main::{lambda(int)#1}::operator()(int) const"), "main::{lambda(int)#1}::operator()");
  EXPECT_EQ(short_name("operator new(unsigned long)"), "operator new");
}

TEST(FunctionName, BarsLeaveLongArgumentsOut) {
  EXPECT_EQ(bar_name("std::vector<std::pair<int, long>, std::allocator<int> >::at(unsigned long)"),
            "std::vector<…>::at");
  EXPECT_EQ(bar_name("void ns::fill<std::string, 4096>(std::vector<int>&) (.part.0)"), "ns::fill<…>");
  EXPECT_EQ(bar_name("Pool<int, 4>::make<std::basic_string<char> >(int)"), "Pool<int, 4>::make<…>");
  EXPECT_EQ(bar_name("std::map<std::string, std::string>::operator[](std::string&&)"), "std::map<…>::operator[]");
  for (const char* name : {"bool ns::Key::operator<(ns::Key const&) const", "ns::operator<< <std::char_traits<char> >",
                           "<alloc::vec::Vec<T> as core::clone::Clone>::clone", "<anonymous>", "a > b", "a<b", ""})
    EXPECT_EQ(bar_name(name), short_name(name));
}

TEST(FunctionName, CopiesOfACompilerAreTheFunction) {
  EXPECT_EQ(without_clone("write(int) (.isra.0)"), "write(int)");
  EXPECT_EQ(without_clone("write(int) [clone .constprop.0] [clone .isra.0]"), "write(int)");
  EXPECT_EQ(short_name("Book::find(int) const (.part.0) (.cold)"), "Book::find");
}

TEST(FunctionName, WhatHasNoParametersStays) {
  for (const char* name :
       {"main", "py::load:job.py", "core::ptr::drop_in_place<alloc::string::String>", "main.(*Tree).add",
        "[unknown stack]", "libx.so+0x12", "(anonymous namespace)", ")", "()", ""})
    EXPECT_EQ(short_name(name), name);
}

}  // namespace
}  // namespace snug::tool
