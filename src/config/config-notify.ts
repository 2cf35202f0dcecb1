/** The sections of the configuration for notifications: where a person is notified that an answer is needed. */
import { z } from 'zod'
import { listOf, oneOf, trueOrFalse, variableName } from './config-values.ts'
import { notificationTopics } from '../domain/notification.ts'
import { signingKey } from '../notify/sign-request.ts'
import { whyTargetRefused } from '../notify/target.ts'

const urlError = 'allowed: an https:// URL, or http:// to this machine (localhost, 127.0.0.1, [::1])'

const targetUrl = z.string({ error: urlError }).superRefine((value, context) => {
  const refused = whyTargetRefused(value)
  if (refused !== undefined) context.addIssue({ code: 'custom', message: `${refused}; ${urlError}` })
})

const topicError = 'allowed: the URL of one ntfy topic, such as https://ntfy.sh/<a long random name>'

const topicUrl = targetUrl.refine(
  (value) => !URL.canParse(value) || /\/[A-Za-z0-9_-]{1,64}\/?$/.test(new URL(value).pathname),
  { error: topicError },
)

const secretError =
  'allowed: whsec_ and 24 to 64 bytes as base64; make one with: echo "whsec_$(openssl rand -base64 32)"'

const signingSecret = z
  .string({ error: secretError })
  .refine((value) => signingKey(value) !== undefined, { error: secretError })

export const notifySections = {
  webhooks: z.strictObject({
    on_escalation: targetUrl.exactOptional().meta({
      meaning: 'URL that is notified when your answer is needed, see [notifications](notifications.md).',
      environment: 'UNSTUCK_WEBHOOK_URL',
    }),
    secret: signingSecret.exactOptional().meta({
      meaning: 'Signs each request, following the Standard Webhooks convention. Prefer the variable to a file.',
      environment: 'UNSTUCK_WEBHOOK_SECRET',
    }),
    style: oneOf(['auto', 'slack', 'standard'])
      .default('auto')
      .meta({ meaning: 'Form of the request: `{text}` as for Slack, or Standard Webhooks. `auto`: by the host.' }),
    events: listOf(oneOf(notificationTopics), 'allowed: a list of events')
      .default([...notificationTopics])
      .meta({ meaning: 'What is sent, over all channels.' }),
  }),
  notify: z.strictObject({
    ntfy: topicUrl.exactOptional().meta({
      meaning:
        'URL of the ntfy topic to publish to. Choose a long random topic name: anyone who knows it can read the topic.',
      environment: 'UNSTUCK_NTFY_URL',
    }),
    ntfyAnswers: topicUrl.exactOptional().meta({
      meaning:
        'URL of a second topic. Notifications over ntfy then have buttons to retry, resume or cancel, which publish to it. Anyone who can read the first topic can press them.',
      environment: 'UNSTUCK_NTFY_ANSWERS_URL',
    }),
    ntfyTokenVariable: variableName
      .default('UNSTUCK_NTFY_TOKEN')
      .meta({ meaning: 'Environment variable with the access token of that topic, if it needs one.' }),
    desktop: trueOrFalse.default(false).meta({ meaning: 'Shows notifications on this desktop with `notify-send`.' }),
  }),
}
