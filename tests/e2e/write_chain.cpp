// Writes the model of talkative_chain() to a file, for scripts: write_chain FILE
#include "support/chain_model.h"

int main(int argc, char** argv) {
  using namespace satchel::test;
  return argc == 2 && write_chain(talkative_chain(), argv[1]) ? 0 : 1;
}
