/** Cases for pairs: what one library exports, another takes. */

import { type Case, casesFrom, expect, must, passes, type Row } from './case.js';
import { recipes } from './recipes.js';
import { holds, sameList } from './reference.js';
import { checkSubject, type Form, hasForm, type Subject, type Taken } from './subject.js';

const slug = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
const forms: readonly Form[] = ['buffer', 'external'];

/** Every producer with every consumer that has a form of memory in common with it, each other tensor and each `copy`. */
export function pairCases(subjects: readonly Subject[]): Case[] {
  subjects.forEach(checkSubject);
  const rows = subjects.flatMap((from) =>
    subjects.flatMap((to) => {
      const isPossible = forms.some((form) => hasForm(from.producer, form) && hasForm(to.consumer, form));
      return isPossible ? rowsOf(from, to) : [];
    }),
  );
  return casesFrom(rows, undefined);
}

function rowsOf(from: Subject, to: Subject): Row<unknown>[] {
  return recipes.flatMap((recipe) =>
    [null, true, false].map((copy) =>
      must<unknown>(
        `x.${slug(from.name)}.${slug(to.name)}.${recipe.name}.${copy}`,
        copy === null ? '1.2' : '2.1',
        `${to.name} takes ${recipe.name} of ${from.name} with copy: ${copy}, or refuses it`,
        async () => {
          const tensor = passes('a tensor', () => from.producer?.make(recipe) ?? null);
          if (tensor === null) return;
          let taken: Taken;
          try {
            taken = to.consumer?.consume(tensor, { copy }) as Taken;
          } catch (error) {
            return expect(error instanceof Error, 'an error', `it threw ${String(error)}`);
          }
          expect(sameList([...taken.shape], recipe.shape), `shape [${recipe.shape}]`, `received [${[...taken.shape]}]`);
          const found = await taken.bytes();
          expect(holds(recipe, found), `the bytes ${recipe.bytes}`, `received ${found}`);
          from.producer?.dispose?.(tensor);
          const still = await taken.bytes();
          expect(holds(recipe, still), 'the same bytes after the tensor was disposed', `received ${still}`);
          taken.release();
        },
      ),
    ),
  );
}
