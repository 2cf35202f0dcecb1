/** Changes the address without a step in the browser's history, as for each key of a filter; the frame reads it anew. */
export const replaceAddress = (hash: string): void => {
  history.replaceState(null, '', hash)
  window.dispatchEvent(new HashChangeEvent('hashchange'))
}
