// @ts-check
/** Buttons that copy the text of another element: `data-copy` is its id. Hidden where a page may not copy. */

for (const button of document.querySelectorAll('button[data-copy]')) {
  const source = document.getElementById(button.getAttribute('data-copy') ?? '');
  if (!(button instanceof HTMLButtonElement) || !source || !navigator.clipboard) continue;
  button.hidden = false;
  const label = button.innerHTML;
  button.setAttribute('aria-live', 'polite');
  button.addEventListener('click', async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? '');
      button.textContent = 'Copied';
    } catch {
      button.textContent = 'Select and copy it by hand';
      getSelection()?.selectAllChildren(source);
    }
    setTimeout(() => {
      button.innerHTML = label;
    }, 2000);
  });
}
