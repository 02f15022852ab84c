/** Numbers for a terminal, in the units that people say. */

const units = ['bytes', 'kB', 'MB', 'GB', 'TB', 'PB'];

export function bytesText(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit++;
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))} ${units[unit]}`;
}

export const countText = (count: number): string => String(count).replaceAll(/\B(?=(\d{3})+$)/g, ',');
