/** Text of others for a terminal or a report. */

/**
 * The text with its control characters, and those that change the order of what follows, as JSON writes them: a
 * terminal would obey them, and XML does not allow them.
 */
export const printable = (text: string): string =>
  text.replaceAll(
    /[\p{Cc}\p{Cs}\p{Bidi_Control}]/gu,
    (found) => `\\u${found.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** As `printable`, of text with several lines. */
export const printableLines = (text: string): string => text.split('\n').map(printable).join('\n');
