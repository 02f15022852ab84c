// A code block scrolls sideways, and so would cut off the type of a name. Each type is placed in the window instead.
const GAP = 8;

export function placePopups() {
  const place = ({ target }) => {
    const name = target instanceof Element ? target.closest('.twoslash-hover') : null;
    const popup = name?.querySelector('.twoslash-popup-container');
    if (name === null || !(popup instanceof HTMLElement)) return;
    const { left, top, bottom } = name.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = popup;
    const isBelow = bottom + height + GAP <= innerHeight || top < height + GAP;
    popup.style.left = `${Math.max(GAP, Math.min(left, innerWidth - width - GAP))}px`;
    popup.style.top = `${isBelow ? bottom : top - height}px`;
  };
  document.addEventListener('pointerover', place);
}
