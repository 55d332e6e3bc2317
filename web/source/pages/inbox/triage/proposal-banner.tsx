import { useState } from 'react'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { inboxMessages } from '../messages.ts'
import { targetLine, targetText } from './inbox-columns.tsx'
import type { CountedProposals } from './proposals.ts'

type ProposalBannerProps = {
  counted: CountedProposals | undefined
  /** The rule whose assets the list shows. */
  shownRule: string | undefined
  onShow: (ruleId: string | undefined) => void
  onAccept: (ruleId: string) => Promise<unknown>
}

/**
 * `ProposalBanner` shows what the onboarding rules propose. The user shows the assets of a rule, and accepts all its proposals
 * at once.
 */
export function ProposalBanner({ counted, shownRule, onShow, onAccept }: ProposalBannerProps) {
  const text = useText(inboxMessages)
  const formats = useFormats()
  const canWrite = usePermission('inventory_write_asset_data')
  const [ruleId, setRuleId] = useState<string>()
  const rules = (counted?.rules ?? []).filter(({ assets }) => assets > 0)
  const chosen = rules.find((rule) => rule.ruleId === ruleId)
  if (rules.length === 0) return null
  return (
    <>
      <ul className="proposal-banner" aria-label={text.proposals}>
        {rules.map((rule) => (
          <li key={rule.ruleId}>
            <span>
              {text.ruleProposes(rule.ruleName, rule.assets, formats.number(rule.assets))}{' '}
              <strong title={targetText(rule, text)}>{targetLine(rule, text)}</strong>
            </span>
            <button
              type="button"
              className="link-button"
              onClick={() => onShow(rule.ruleId === shownRule ? undefined : rule.ruleId)}
            >
              {rule.ruleId === shownRule ? text.showAllNew : text.showProposed(formats.number(rule.assets))}
            </button>
            {canWrite && (
              <button type="button" className="link-button" onClick={() => setRuleId(rule.ruleId)}>
                {text.accept(formats.number(rule.assets))}
              </button>
            )}
          </li>
        ))}
        {counted?.isComplete === false && <li className="quiet">{text.proposalsIncomplete}</li>}
      </ul>
      {chosen !== undefined && (
        <ConfirmDialog
          title={text.onboardTitle(chosen.assets, formats.number(chosen.assets))}
          action={text.onboard}
          onConfirm={() => onAccept(chosen.ruleId)}
          onClose={() => setRuleId(undefined)}
        >
          <p>{text.acceptText(chosen.ruleName, targetText(chosen, text))}</p>
        </ConfirmDialog>
      )}
    </>
  )
}
