/** Cases for pairs: what one library exports, another takes. */

import { type Case, casesFrom, expect, must, passes, type Row, thrown } from './case.js';
import { probe } from './probe.js';
import { matrix, type Recipe, recipes, widthOf } from './recipes.js';
import { gather, holds } from './reference.js';
import { type ConsumerSubject, checkSubject, type Form, hasForm, type Subject, type Taken } from './subject.js';
import { checkDeleted, checkTaken, take } from './takes.js';

const slug = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
const forms: readonly Form[] = ['buffer', 'external'];

/**
 * Lists the cases for every producer with every consumer that has a form of memory in common with it, for each tensor,
 * each view and each `copy`; and for every two consumers of buffers, which both get the same managed tensor.
 *
 * @param subjects - The libraries.
 * @returns The cases, for {@link runCases} or a test runner.
 * @throws ArgumentTypeError or ArgumentValueError for a library that is described wrongly.
 * @example
 * ```ts fragment: needs two libraries
 * import { pairCases } from 'dlpack/conformance';
 * for (const { id, title, run } of pairCases([mine, yours])) test(`${id}: ${title}`, run);
 * ```
 */
export function pairCases(subjects: readonly Subject[]): Case[] {
  subjects.forEach(checkSubject);
  const rows = subjects.flatMap((from) =>
    subjects.flatMap((to) => {
      const isPossible = forms.some((form) => hasForm(from.producer, form) && hasForm(to.consumer, form));
      return [...(isPossible ? rowsOf(from, to) : []), ...twiceRowsOf(from, to)];
    }),
  );
  return casesFrom(rows, undefined);
}

/** What the second library takes of the first. */
interface Exchanged {
  /** The name in the id of the case. */
  readonly name: string;
  /** The tensor that the first library makes. */
  readonly recipe: Recipe;
  /** Makes what it exports from that. */
  readonly view: (tensor: object) => object;
  /** The elements that the second library must find. */
  readonly expected: Recipe;
}

function exchangedOf({ producer }: Subject): Exchanged[] {
  const whole = recipes.map((recipe) => ({
    name: recipe.name,
    recipe,
    view: (tensor: object) => tensor,
    expected: recipe,
  }));
  const views = Object.entries(producer?.views ?? {}).map(([name, { recipe: of = 'f32', make, shape, elements }]) => {
    const recipe = recipes.find((candidate) => candidate.name === of) ?? matrix;
    const bytes = gather(recipe.bytes, 0, widthOf(recipe.dtype, recipe.isPadded), elements);
    return { name: `view.${slug(name)}`, recipe, view: make, expected: { ...recipe, shape, bytes } };
  });
  return [...whole, ...views];
}

const rowsOf = (from: Subject, to: Subject): Row<unknown>[] =>
  exchangedOf(from).flatMap(({ name, recipe, view, expected }) =>
    [null, true, false].map((copy) =>
      must<unknown>(
        `x.${slug(from.name)}.${slug(to.name)}.${name}.${copy}`,
        copy === null ? '1.2' : '2.1',
        `${to.name} takes ${name} of ${from.name} with copy: ${copy}, or refuses it`,
        async () => {
          const tensor = passes('a tensor', () => from.producer?.make(recipe) ?? null);
          if (tensor === null) return;
          let taken: Taken;
          try {
            taken = to.consumer?.consume(view(tensor), { copy }) as Taken;
          } catch (error) {
            return expect(error instanceof Error, 'an error', `it threw ${String(error)}`);
          }
          await checkTaken(taken, expected);
          from.producer?.dispose?.(tensor);
          const still = await taken.bytes();
          expect(holds(expected, still), 'the same bytes after the tensor was disposed', `received ${still}`);
          taken.release();
        },
      ),
    ),
  );

/** What one library has consumed, another refuses. */
function twiceRowsOf(first: Subject, second: Subject): Row<unknown>[] {
  if (first === second || !hasForm(first.consumer, 'buffer') || !hasForm(second.consumer, 'buffer')) return [];
  return [
    must<unknown>(
      `x.twice.${slug(first.name)}.${slug(second.name)}`,
      '5.1',
      `${second.name} refuses what ${first.name} has consumed, and does not release it`,
      async () => {
        let cached: unknown;
        const tested = probe({
          wrap: (managed) => {
            cached ??= managed;
            return cached;
          },
        });
        const context = (consumer: ConsumerSubject | undefined) => ({
          consumer: consumer as ConsumerSubject,
          environment: {},
        });
        const taken = take(context(first.consumer), tested);
        const before = tested.deleted;
        thrown('an error', () => second.consumer?.consume(tested.producer, {}).release());
        expect(tested.deleted === before, 'no call of the deleter for the refused one', `it had one`);
        taken.release();
        await checkDeleted(tested);
      },
    ),
  ];
}
