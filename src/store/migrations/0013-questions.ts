/**
 * A question says what happened and what was tried, and each of its choices is a record instead of a word. What a
 * person allowed a harness to run is stored with the goal.
 */
export const migration = `
alter table escalation add column happened text not null default '';
alter table escalation add column tried jsonb not null default '[]';
update escalation set happened = question, choices = coalesce((
  select jsonb_agg(jsonb_build_object(
    'id', word,
    'kind', word,
    'label', case word
      when 'approve' then 'Approve the work as it is'
      when 'resume' then 'Resume the goal'
      else initcap(word) || ' the ' || case when task_id is null then 'goal' else 'task' end end,
    'effect', case word
      when 'approve' then 'The finished work lands as it is.'
      when 'resume' then 'The goal continues, and its blocked tasks are tried again.'
      when 'retry' then 'It is tried again with a new count of recoveries.'
      else 'It ends. What was changed is kept as a snapshot.' end,
    'command', 'unstuck ' || word || ' ' || case when word = 'resume' or task_id is null then goal_id else task_id end,
    'input', null) order by place)
  from jsonb_array_elements_text(choices) with ordinality as old (word, place)), '[]'::jsonb);
alter table goal add column grants jsonb not null default '[]';
`
