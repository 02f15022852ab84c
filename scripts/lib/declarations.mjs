// What users see of the declarations that the compiler writes. The compiler omits what is marked `@internal`.

/** The end of the statement that begins at `start`: after the semicolon outside of brackets. */
function endOf(text, start) {
  let depth = 0;
  for (let i = start; i < text.length; i++) {
    if (text.startsWith('/*', i)) i = text.indexOf('*/', i) + 1;
    else if ('([{'.includes(text[i])) depth++;
    else if (')]}'.includes(text[i])) depth--;
    else if (text[i] === ';' && depth === 0) return i + 1;
  }
  throw new Error(`A statement without an end: ${text.slice(start, start + 80)}`);
}

/**
 * Classes with the tag `@hideconstructor` are made by functions of this package. Their constructors take what users do not
 * know, so the declarations are abstract classes without one: programs cannot call it, and `InstanceType<typeof Tensor>` and
 * schemas that take a class still compile. Declarations that were left from an earlier build stay as they are.
 */
export function hideConstructors(text) {
  const classes =
    /\/\*\*(?:(?!\*\/)[\s\S])*@hideconstructor(?:(?!\*\/)[\s\S])*\*\/\nexport declare (?=(?:abstract )?class \w)/g;
  let result = text;
  for (const { index, 0: head } of [...text.matchAll(classes)].reverse()) {
    const begin = index + head.length;
    const isAbstract = result.startsWith('abstract ', begin);
    const found = /\n {4}(?:\/\*\*(?:(?!\*\/)[\s\S])*\*\/\s+)?(?:protected )?constructor\(/.exec(result.slice(begin));
    if (found === null || result.slice(begin, begin + found.index).includes('\n}')) {
      if (isAbstract) continue;
      throw new Error(`@hideconstructor of a class without a constructor: ${head.slice(-60)}`);
    }
    const start = begin + found.index;
    const end = endOf(result, start + found[0].length - 1);
    result = `${result.slice(0, begin)}${isAbstract ? '' : 'abstract '}${result.slice(begin, start)}${result.slice(end)}`;
  }
  return dropUnusedImports(result);
}

/** Imports that only a hidden constructor or an internal member needed would lead to further declarations. */
function dropUnusedImports(text) {
  return text.replaceAll(/^import (type )?\{([^}]*)\} from '([^']*)';\n/gm, (statement, type = '', list, from) => {
    const isUsed = (name) => text.replace(statement, '').match(new RegExp(`(?<![\\w$.])${name}(?![\\w$])`)) !== null;
    const names = list.split(',').map((item) => item.trim());
    const used = names.filter((item) => isUsed(item.replace(/^type /, '').replace(/^.* as /, '')));
    if (used.length === names.length) return statement;
    return used.length === 0 ? '' : `import ${type}{ ${used.join(', ')} } from '${from}';\n`;
  });
}
