#include "tickets.h"

#include <stdlib.h>

#include "lock.h"

namespace dlpack {

struct Ticket {
  Ticket* next;
  Storage* storage;
  uint64_t number[2];
  Descriptor descriptor;
};

static const size_t kBuckets = 256;  // the numbers are random, so the low byte is a good hash
static Ticket* buckets[kBuckets];
static Lock buckets_lock;

bool IssueTicket(const uint64_t* number, const Descriptor& descriptor, Storage* storage) {
  Ticket* ticket = static_cast<Ticket*>(malloc(sizeof(Ticket)));
  if (ticket == nullptr) return false;
  ticket->number[0] = number[0];
  ticket->number[1] = number[1];
  ticket->descriptor = descriptor;
  ticket->storage = storage;
  RetainStorage(storage);
  Count(counts.tickets, 1);
  LockScope scope(&buckets_lock);
  Ticket** bucket = &buckets[number[0] % kBuckets];
  ticket->next = *bucket;
  *bucket = ticket;
  return true;
}

Storage* RedeemTicket(const uint64_t* number, Descriptor* descriptor) {
  Ticket* found = nullptr;
  {
    LockScope scope(&buckets_lock);
    for (Ticket** at = &buckets[number[0] % kBuckets]; *at != nullptr; at = &(*at)->next) {
      if ((*at)->number[0] == number[0] && (*at)->number[1] == number[1]) {
        found = *at;
        *at = found->next;
        break;
      }
    }
  }
  if (found == nullptr) return nullptr;
  Storage* storage = found->storage;
  *descriptor = found->descriptor;
  free(found);
  Count(counts.tickets, -1);
  return storage;
}

}  // namespace dlpack
