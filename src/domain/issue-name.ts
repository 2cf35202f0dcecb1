/** An issue as people write it: `#12`, or `ENG-12` where it has a name of its own. */
export const issueName = (id: string): string => (/^\d+$/.test(id) ? `#${id}` : id)
