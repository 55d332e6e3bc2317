import { iconQuestion } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { useText } from '../language/language-context.tsx'
import { appMessages } from '../shell/messages.ts'

export function NotFoundPage() {
  const text = useText(appMessages)
  usePageTitle(text.notFound)
  return (
    <>
      <PageHeader title={text.notFound} />
      <EmptyState icon={iconQuestion} title={text.notFoundHint}>
        <Link to="/">{text.goToStart}</Link>
      </EmptyState>
    </>
  )
}
