/** Coding agents, model providers, and the policies around a run: problems of the agent itself, not of its code. */
import { rulesOf } from './rule.ts'

// One line is one rule.
// oxfmt-ignore
export const agentOutputRules = rulesOf('agent', [
  ['quota', 'llm_quota', 92, 'OpenAI API, Gemini API: error bodies', /insufficient_quota|[Yy]ou exceeded your current quota|exceeded (?:your|the) (?:current |monthly |daily )?(?:quota|usage limit)|RESOURCE_EXHAUSTED|rateLimitExceeded|Resource (?:has been )?exhausted|rate_limit_(?:error|exceeded)|billing_hard_limit|QuotaExceeded|(?:API|[Rr]equest|[Tt]oken|[Mm]odel|[Dd]aily|[Mm]onthly) quota(?: limit)? (?:exceeded|reached)|TerminalQuotaError/, '"code": "insufficient_quota"', { counter: 'EDQUOT: disk quota exceeded' }],
  ['rate', 'llm_quota', 90, 'OpenAI API, Anthropic API: error bodies', /Rate limit reached for|tokens per min|requests per (?:min|day)|exceed(?:ed)? your (?:organization|account)['’]?s? (?:rate|monthly|usage) limit|429 .{0,80}(?:rate_limit|model|tokens|organization)|This request would exceed|Too many tokens|overloaded_error|529 .{0,40}[Oo]verloaded|model is (?:currently )?overloaded/, 'Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)'],
  ['usage', 'llm_quota', 90, 'claude 2, codex 1, gemini 1, opencode: usage limits', /[Yy]ou['’]ve (?:hit|reached) your (?:\w+ )?(?:usage )?limit|usage limit (?:reached|exceeded)|limit reached ?[|∙·]|5-hour limit|weekly limit reached|Claude (?:AI )?usage limit|out of (?:extra )?usage|[Qq]uota limitations in place|reached your (?:daily|weekly|monthly) (?:quota|limit|usage)|upgrade to (?:Pro|a paid account)/, "You've hit your limit · resets 2:10pm (Europe/Moscow)"],
  ['credit', 'llm_quota', 92, 'OpenRouter, Anthropic API: credit', /requires more credits|credit balance is too low|can only afford \d+|[Ii]nsufficient (?:credits|balance|funds)|payment required|402 .{0,40}credit|add (?:more )?credits|out of credits|billing_error/i, 'This request requires more credits, or fewer max_tokens.', { action: 'escalate' }],
  ['key', 'auth_failure', 84, 'OpenAI API, Anthropic API: error bodies', /[Ii]nvalid (?:x-)?[Aa][Pp][Ii][- ][Kk]ey|Incorrect API key|authentication_error|invalid_api_key|API key not valid|Please run \/login|OAuth token has expired|Not logged in/, 'Incorrect API key provided: sk-xxx'],
  ['loop', 'model_doom_loop', 90, 'agents: loop guards', /loop (?:guard|detected|detection)|(?:potential|infinite|doom|repetition) loop|loop was detected|planning chatter|pseudo tool|repeat(?:ed|ing)? (?:the same|\d+ times|itself)|same (?:tool call|old_string|command|edit)s? .{0,40}(?:times|again|repeated)|last \d+ turns repeated|repeated \d+ times|[Rr]eached (?:the )?max(?:imum)?(?: number of)?[ _](?:turns|iterations|steps)|max_turns|stuck in a loop|without (?:a file change|making progress|progress)|no progress (?:in|for|after)/, 'loop guard: pattern "grep -> read" repeated 12 times without a file change'],
  [
    'external',
    'permission_prompt',
    92,
    'opencode: permissions',
    /external_directory|Access file outside working directory|auto-reject(?:ing|ed)|permission requested: /,
    'permission requested: external_directory (/*); auto-rejecting',
    { action: 'adjust_paths' },
  ],
  ['trust', 'permission_prompt', 92, 'codex 1: trust checks', /Not inside a trusted directory|skip-git-repo-check|Repository check failed/, 'Not inside a trusted directory and --skip-git-repo-check was not specified.'],
  ['scope', 'permission_prompt', 90, 'gemini 1: workspace checks', /not a registered workspace directory|[Pp]ath must be within|outside (?:of )?(?:the )?(?:allowed|workspace|working|project) (?:workspace |working )?director(?:y|ies)|not (?:within|in) (?:any of )?(?:the )?(?:allowed|workspace) director|[Ff]ile path must be within/, "Directory 'packages/core' is not a registered workspace directory."],
  ['tool', 'permission_prompt', 90, 'claude 2: permissions', /[Pp]ermission to use \S+ (?:has been |was )?denied|Permission required to|don't ask mode|requires (?:your )?(?:approval|permission|confirmation)|haven't granted it yet|requested permissions? to|Access blocked|approval (?:required|policy)|was (?:blocked|rejected) by (?:the )?(?:user|sandbox|permission)|Tool (?:call|use) (?:was )?(?:denied|rejected)|waiting for (?:user )?(?:approval|permission)|not allowed in non-interactive/, "Permission to use Edit has been denied because Claude Code is running in don't ask mode."],
  ['policy', 'policy_violation', 90, 'guards: path policies', /outside (?:of )?(?:the )?allowed paths|change (?:to|of) (?:a )?denied path|policy (?:check|violation|gate)|may only (?:touch|change|edit|modify)|denied (?:command|path)|forbidden (?:command|path|file)|protected (?:path|file)s? (?:was|were|changed|modified)|not in the allow(?:ed)? ?list|disallowed (?:path|file|command)|changed files? outside/i, '- change outside allowed paths: package.json', { counter: 'Access-Control-Allow: *' }],
  ['no-changes', 'no_changes', 86, 'agents: empty results', /[Nn]o (?:relevant |code |file |actual )?changes (?:were |have been )?(?:made|needed|required|necessary|produced|to (?:commit|propose))|produced no (?:diff|changes)|empty diff|made no changes|working tree is unchanged/, 'No relevant changes were made: the requested behaviour already exists.'],
])
