/** Types that JavaScript defines. */

import { liveCounts } from 'dlpack/debug';
import { type FFIFunction, getGlobalFunc, isInstance, List, registerObject, sameAs } from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { collect, collectUntil, testWith } from '../../harness.js';
import { caught, ffiMissing, kernelsMissing, probe, raises, testing } from './peer.js';

class Account {
  owner: string;
  balance = 0;

  constructor(owner: string) {
    this.owner = owner;
  }

  deposit(amount: number): number {
    if (amount < 0) throw new RangeError('a negative amount');
    this.balance += amount;
    return this.balance;
  }
}
class Savings extends Account {}

testWith(ffiMissing, 'objects of a registered class have its type in native code, and come back as themselves', () => {
  testing('echo');
  registerObject('dlpack.test.Account', Account, { fields: ['owner', 'balance'], methods: ['deposit'] });
  const echo = testing('echo');
  const account = new Account('Ada');
  const savings = new Savings('Alan');
  ok(echo(account) === account && echo(savings) === savings);
  ok((echo([account, { account }]) as unknown[])[0] === account);
  ok(testing('apply')((same: Account) => same === account, account) === true);
  // The library reads the fields through reflection.
  equal(getGlobalFunc('ffi.ReprPrint')(account), 'dlpack.test.Account(owner="Ada", balance=0)');
  const fieldGetter = getGlobalFunc('ffi.MakeFieldGetter', { allowMissing: true });
  ok(fieldGetter !== null);
  account.balance = 5;
  equal(
    getGlobalFunc('ffi.ReprPrint')([account, savings]),
    '(dlpack.test.Account(owner="Ada", balance=5), dlpack.test.Account(owner="Alan", balance=0))',
  );
  raises('ValueError', 'stands', () => {
    Object.defineProperty(account, 'owner', {
      get: () => (testing('test_raise_error') as FFIFunction)('ValueError', 'stands'),
    });
    getGlobalFunc('ffi.ReprPrint')(account);
  });
});

testWith(kernelsMissing, 'one object is one native object as long as native code holds it', async () => {
  class Node {
    next: Node | null = null;
  }
  registerObject('dlpack.test.Node', Node, { fields: ['next'] });
  const [node, other] = [new Node(), new Node()];
  const count = testing('object_use_count');
  ok(sameAs(node, node) && !sameAs(node, other) && !sameAs(node, {}));
  equal(
    ['dlpack.test.Node', 'ffi.Object', 'dlpack.test.Account'].map((key) => isInstance(node, key)),
    [true, true, false],
  );
  // The same object twice in one call, in two calls, and inside containers. The argument itself counts once.
  const list = new List<unknown>([node, node, [node]]);
  equal(count(node), 4);
  probe('keep')(node);
  equal(count(node), 5);
  ok(probe('kept')() === node && list.at(0) === node && list.includes(node) && !list.includes(other));
  list.clear();
  equal(count(node), 2);
  probe('forget')();
  equal(count(node), 1);
  // After native code has released it, a new native object is made; and again while the release is still on its way.
  for (let i = 0; i < 1000; i++) ok(testing('echo')(node) === node);
  await collect();
  probe('keep')(node);
  ok(probe('kept')() === node);
  equal(count(node), 2);
  probe('forget')();
  // The library recognises an object that contains itself, so it can print it.
  node.next = node;
  equal(getGlobalFunc('ffi.ReprPrint')(node), 'dlpack.test.Node(next=...)');
});

testWith(kernelsMissing, 'native objects of many objects are released, and their memory is used again', async () => {
  class Small {
    id = 0;
  }
  registerObject('dlpack.test.Small', Small, { fields: ['id'] });
  const before = liveCounts();
  const refs: WeakRef<Small>[] = [];
  const pass = () => {
    const objects = Array.from({ length: 2000 }, () => new Small());
    const list = new List(objects);
    for (const [i, object] of objects.entries()) object.id = i;
    ok(list.at(7) === objects[7] && list.at(1999)?.id === 1999);
    list.clear();
    refs.push(new WeakRef(objects[0] as Small));
  };
  for (let round = 0; round < 3; round++) pass();
  ok(await collectUntil(() => refs.every((ref) => ref.deref() === undefined)), 'released');
  ok(await collectUntil(() => liveCounts().imports <= before.imports), JSON.stringify({ before, now: liveCounts() }));
});

testWith(ffiMissing, 'native code releases the objects', async () => {
  class Held {}
  registerObject('dlpack.test.Held', Held);
  const refs: WeakRef<Held>[] = [];
  const pass = () => {
    const held = new Held();
    refs.push(new WeakRef(held));
    testing('echo')([held]);
  };
  pass();
  ok(await collectUntil(() => refs[0]?.deref() === undefined), 'released');
});

testWith(ffiMissing, 'wrong keys and classes', () => {
  testing('echo');
  class Twice {}
  registerObject('dlpack.test.Twice', Twice);
  throws('ValueError', 'no type has yet', () => registerObject('dlpack.test.Twice', class {}));
  throws('ValueError', 'no type has yet', () => registerObject('testing.TestIntPair', class {}));
  throws('ValueError', 'a class without a type', () => registerObject('dlpack.test.Again', Twice));
  for (const options of [{ fields: ['a', 'a'] }, { methods: ['a', 'a'] }, { fields: ['a'], methods: ['a'] }]) {
    throws('ValueError', "each name once for options but received 'a'", () =>
      registerObject('dlpack.test.Free', class {}, options),
    );
  }
  registerObject('dlpack.test.Free', class {}, { fields: ['a'] }); // the key is still free
  throws('TypeError', 'the key of a type', () => registerObject('', class {}));
  throws('TypeError', 'a class', () => registerObject('dlpack.test.None', (() => 1) as never));
  throws('TypeError', 'an array of names', () =>
    registerObject('dlpack.test.None', class {}, { fields: 'a' as never }),
  );
  ok(caught(() => testing('echo')(new (class {})())) !== null, 'other classes are refused');
});
