import { iconQuestion } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'

export function NotFoundPage() {
  const text = useText(appMessages)
  usePageTitle(text.nothingHere)
  return (
    <>
      <PageHeader title={text.nothingHere} />
      <EmptyState icon={iconQuestion} title={text.mistyped}>
        <Link to="/">{text.goToStart}</Link>
      </EmptyState>
    </>
  )
}
