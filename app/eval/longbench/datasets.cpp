// The table of prompts: published text, not ours to mend.
#include "app/eval/longbench/tasks.h"

namespace satchel::eval::longbench {
namespace {

constexpr std::string_view kPassages =
    "Answer the question based on the given passages. Only give me the answer and "
    "do not output any other words.\n"
    "\n"
    "The following are given passages.\n"
    "{context}\n\n"
    "Answer the question based on the given passages. Only give me the answer and "
    "do not output any other words.\n"
    "\n"
    "Question: {input}\n"
    "Answer:";

constexpr Dataset kDatasets[] = {
    {.name = "2wikimqa", .metric = f1, .n_answer_tokens = 32, .prompt = kPassages},
    {.name = "dureader",
     .metric = rouge_l_chinese,
     .n_answer_tokens = 128,
     .prompt = "请基于给定的文章回答下述问题。\n\n"
               "文章：{context}\n\n"
               "请基于上述文章回答下面的问题。\n\n"
               "问题：{input}\n"
               "回答："},
    {.name = "gov_report",
     .metric = rouge_l,
     .n_answer_tokens = 512,
     .prompt = "You are given a report by a government agency. Write a one-page summary of "
               "the report.\n"
               "\n"
               "Report:\n"
               "{context}\n\n"
               "Now, write a one-page summary of the report.\n\n"
               "Summary:"},
    {.name = "hotpotqa", .metric = f1, .n_answer_tokens = 32, .prompt = kPassages},
    {.name = "lcc",
     .metric = code_similarity,
     .n_answer_tokens = 64,
     .prompt = "Please complete the code given below. \n"
               "{context}Next line of code:\n",
     .judged = Judged::code_line,
     .as_chat = false},
    {.name = "lsht",
     .metric = nullptr,
     .n_answer_tokens = 64,
     .prompt = "请判断给定新闻的类别，下面是一些例子。\n\n"
               "{context}\n"
               "{input}",
     .judged = Judged::first_line,
     .as_chat = false},
    {.name = "multi_news",
     .metric = rouge_l,
     .n_answer_tokens = 512,
     .prompt = "You are given several news passages. Write a one-page summary of all news. \n"
               "\n"
               "News:\n"
               "{context}\n\n"
               "Now, write a one-page summary of all the news.\n\n"
               "Summary:"},
    {.name = "multifieldqa_en",
     .metric = f1,
     .n_answer_tokens = 64,
     .prompt = "Read the following text and answer briefly.\n\n"
               "{context}\n\n"
               "Now, answer the following question based on the above text, only give me the "
               "answer and do not output any other words.\n"
               "\n"
               "Question: {input}\n"
               "Answer:"},
    {.name = "multifieldqa_zh",
     .metric = f1_chinese,
     .n_answer_tokens = 64,
     .prompt = "阅读以下文字并用中文简短回答：\n\n"
               "{context}\n\n"
               "现在请基于上面的文章回答下面的问题，只告诉我答案，不要输出任何其他字词。\n\n"
               "问题：{input}\n"
               "回答："},
    {.name = "musique", .metric = f1, .n_answer_tokens = 32, .prompt = kPassages},
    {.name = "narrativeqa",
     .metric = f1,
     .n_answer_tokens = 128,
     .prompt = "You are given a story, which can be either a novel or a movie script, and a "
               "question. Answer the question asconcisely as you can, using a single phrase "
               "if possible. Do not provide any explanation.\n"
               "\n"
               "Story: {context}\n\n"
               "Now, answer the question based on the story asconcisely as you can, using a "
               "single phrase if possible. Do not provide any explanation.\n"
               "\n"
               "Question: {input}\n\n"
               "Answer:"},
    {.name = "passage_count",
     .metric = count,
     .n_answer_tokens = 32,
     .prompt = "There are some paragraphs below sourced from Wikipedia. Some of them may be "
               "duplicates. Please carefully read these paragraphs and determine how many "
               "unique paragraphs there are after removing duplicates. In other words, how "
               "many non-repeating paragraphs are there in total?\n"
               "\n"
               "{context}\n\n"
               "Please enter the final count of unique paragraphs after removing duplicates. "
               "The output format should only contain the number, such as 1, 2, 3, and so on.\n"
               "\n"
               "The final answer is: "},
    {.name = "passage_retrieval_en",
     .metric = retrieval,
     .n_answer_tokens = 32,
     .prompt = "Here are 30 paragraphs from Wikipedia, along with an abstract. Please "
               "determine which paragraph the abstract is from.\n"
               "\n"
               "{context}\n\n"
               "The following is an abstract.\n\n"
               "{input}\n\n"
               "Please enter the number of the paragraph that the abstract is from. The "
               "answer format must be like \"Paragraph 1\", \"Paragraph 2\", etc.\n"
               "\n"
               "The answer is: "},
    {.name = "passage_retrieval_zh",
     .metric = retrieval_chinese,
     .n_answer_tokens = 32,
     .prompt = "以下是若干段落文字，以及其中一个段落的摘要。请确定给定的摘要出自哪一段。\n\n"
               "{context}\n\n"
               "下面是一个摘要\n\n"
               "{input}\n\n"
               "请输入摘要所属段落的编号。答案格式必须是\"段落1\"，\"段落2\"等格式\n\n"
               "答案是："},
    {.name = "qasper",
     .metric = f1,
     .n_answer_tokens = 128,
     .prompt = "You are given a scientific article and a question. Answer the question as "
               "concisely as you can, using a single phrase or sentence if possible. If the "
               "question cannot be answered based on the information in the article, write "
               "\"unanswerable\". If the question is a yes/no question, answer \"yes\", \"no\", or "
               "\"unanswerable\". Do not provide any explanation.\n"
               "\n"
               "Article: {context}\n\n"
               " Answer the question based on the above article as concisely as you can, "
               "using a single phrase or sentence if possible. If the question cannot be "
               "answered based on the information in the article, write \"unanswerable\". If "
               "the question is a yes/no question, answer \"yes\", \"no\", or \"unanswerable\". Do "
               "not provide any explanation.\n"
               "\n"
               "Question: {input}\n\n"
               "Answer:"},
    {.name = "qmsum",
     .metric = rouge_l,
     .n_answer_tokens = 512,
     .prompt = "You are given a meeting transcript and a query containing a question or "
               "instruction. Answer the query in one or more sentences.\n"
               "\n"
               "Transcript:\n"
               "{context}\n\n"
               "Now, answer the query based on the above meeting transcript in one or more "
               "sentences.\n"
               "\n"
               "Query: {input}\n"
               "Answer:"},
    {.name = "repobench-p",
     .metric = code_similarity,
     .n_answer_tokens = 64,
     .prompt = "Please complete the code given below. \n"
               "{context}{input}Next line of code:\n",
     .judged = Judged::code_line,
     .as_chat = false},
    {.name = "samsum",
     .metric = rouge_l,
     .n_answer_tokens = 128,
     .prompt = "Summarize the dialogue into a few short sentences. The following are some "
               "examples.\n"
               "\n"
               "{context}\n\n"
               "{input}",
     .judged = Judged::first_line,
     .as_chat = false},
    {.name = "trec",
     .metric = nullptr,
     .n_answer_tokens = 64,
     .prompt = "Please determine the type of the question below. Here are some examples of "
               "questions.\n"
               "\n"
               "{context}\n"
               "{input}",
     .judged = Judged::first_line,
     .as_chat = false},
    {.name = "triviaqa",
     .metric = f1,
     .n_answer_tokens = 32,
     .prompt = "Answer the question based on the given passage. Only give me the answer and "
               "do not output any other words. The following are some examples.\n"
               "\n"
               "{context}\n\n"
               "{input}",
     .judged = Judged::first_line,
     .as_chat = false},
    {.name = "vcsum",
     .metric = rouge_l_chinese,
     .n_answer_tokens = 512,
     .prompt = "下面有一段会议记录，请你阅读后，写一段总结，总结会议的内容。\n"
               "会议记录：\n"
               "{context}\n\n"
               "会议总结："},
};

}  // namespace

std::span<const Dataset> datasets() {
  return kDatasets;
}

}  // namespace satchel::eval::longbench
