/** Types that JavaScript defines. */

import { type FFIFunction, getGlobalFunc, registerObject } from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../../assert.js';
import { collectUntil, testWith } from '../../harness.js';
import { caught, ffiMissing, raises, testing } from './peer.js';

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
