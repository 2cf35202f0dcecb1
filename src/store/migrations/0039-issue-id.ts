/** Issues of other trackers have names, such as ENG-12. */
export const migration = `
alter table forge_link alter column issue type text using issue::text;
`
