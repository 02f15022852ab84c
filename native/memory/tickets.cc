#include "tickets.h"

#include <stdlib.h>

#include <new>

#include "../lock.h"

namespace dlpack {

struct Ticket {
  Ticket* next;
  Storage* storage;
  uint64_t number[2];
  uint64_t byte_offset;
  LayoutRoom layout;
};

static const size_t kBuckets = 256;  // the numbers are random, so the low byte is a good hash
static Ticket* buckets[kBuckets];
static Lock buckets_lock;

bool IssueTicket(const uint64_t* number, const Descriptor& tensor, Storage* storage) {
  void* block = malloc(sizeof(Ticket));
  if (block == nullptr) return false;
  Ticket* ticket = new (block) Ticket;
  ticket->number[0] = number[0];
  ticket->number[1] = number[1];
  ticket->byte_offset = tensor.byte_offset;
  CopyLayout(*tensor.layout, &ticket->layout);
  ticket->layout.number = 0;  // it belongs to another instance
  ticket->storage = storage;
  RetainStorage(storage);
  Count(Counter::kTickets, 1);
  LockScope scope(&buckets_lock);
  Ticket** bucket = &buckets[number[0] % kBuckets];
  ticket->next = *bucket;
  *bucket = ticket;
  return true;
}

Storage* RedeemTicket(const uint64_t* number, Layout* layout, uint64_t* byte_offset) {
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
  CopyLayout(found->layout, layout);
  *byte_offset = found->byte_offset;
  free(found);
  Count(Counter::kTickets, -1);
  return storage;
}

}  // namespace dlpack
