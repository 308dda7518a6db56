//! The event catalogues that this project was asked to carry, each name declared once.

use std::collections::BTreeSet;

use outbox_core::{Message, Registry};

macro_rules! catalogue {
    ($($name:literal => $event:ident,)+) => {
        $(
            #[outbox::event($name)]
            pub(crate) struct $event;
        )+

        /// Stored name and Rust type of each.
        pub(crate) const NAMES: &[(&str, &str)] = &[$(($event::NAME, stringify!($event))),+];
    };
}

mod shop {
    catalogue! {
        "product.created" => ProductCreated,
        "product.updated" => ProductUpdated,
        "product.deleted" => ProductDeleted,
        "stock.low" => StockLow,
        "stock.out_of_stock" => StockOutOfStock,
        "stock.back_in_stock" => StockBackInStock,
        "order.placed" => OrderPlaced,
        "order.paid" => OrderPaid,
        "order.fulfilled" => OrderFulfilled,
        "order.cancelled" => OrderCancelled,
        "order.refunded" => OrderRefunded,
        "customer.registered" => CustomerRegistered,
        "wishlist.item_added" => WishlistItemAdded,
        "payment.succeeded" => PaymentSucceeded,
        "payment.failed" => PaymentFailed,
        "payment.refunded" => PaymentRefunded,
        "shipment.created" => ShipmentCreated,
        "shipment.delivered" => ShipmentDelivered,
        "discount.applied" => DiscountApplied,
        "campaign.sent" => CampaignSent,
        "notification.delivered" => NotificationDelivered,
        "notification.failed" => NotificationFailed,
        "content.published" => ContentPublished,
        "setting.changed" => SettingChanged,
        "automation.recommendation_generated" => AutomationRecommendationGenerated,
        "automation.alert_raised" => AutomationAlertRaised,
        "analytics.metric_computed" => AnalyticsMetricComputed,
        "report.generated" => ReportGenerated,
        "health_score.updated" => HealthScoreUpdated,
        "user.action_recorded" => UserActionRecorded,
        "asset.processed" => AssetProcessed,
    }
}

mod projects {
    catalogue! {
        "project.created" => ProjectCreated,
        "project.updated" => ProjectUpdated,
        "project.status_changed" => ProjectStatusChanged,
        "project.deleted" => ProjectDeleted,
        "project.member_added" => ProjectMemberAdded,
        "project.member_removed" => ProjectMemberRemoved,
        "project.role_changed" => ProjectRoleChanged,
        "project.ownership_transferred" => ProjectOwnershipTransferred,
        "project.dependency_added" => ProjectDependencyAdded,
        "project.dependency_removed" => ProjectDependencyRemoved,
        "project.exported" => ProjectExported,
        "label.created" => LabelCreated,
        "label.updated" => LabelUpdated,
        "label.deleted" => LabelDeleted,
        "epic.created" => EpicCreated,
        "epic.updated" => EpicUpdated,
        "epic.status_changed" => EpicStatusChanged,
        "epic.deleted" => EpicDeleted,
        "issue.created" => IssueCreated,
        "issue.updated" => IssueUpdated,
        "issue.status_changed" => IssueStatusChanged,
        "issue.assigned" => IssueAssigned,
        "issue.unassigned" => IssueUnassigned,
        "issue.moved" => IssueMoved,
        "issue.blocker_added" => IssueBlockerAdded,
        "issue.blocker_removed" => IssueBlockerRemoved,
        "issue.label_added" => IssueLabelAdded,
        "issue.label_removed" => IssueLabelRemoved,
        "comment.created" => CommentCreated,
        "comment.updated" => CommentUpdated,
        "comment.resolved" => CommentResolved,
        "comment.unresolved" => CommentUnresolved,
        "comment.deleted" => CommentDeleted,
        "attachment.uploaded" => AttachmentUploaded,
        "attachment.deleted" => AttachmentDeleted,
        "link.added" => LinkAdded,
        "link.removed" => LinkRemoved,
        "wiki.created" => WikiCreated,
        "wiki.updated" => WikiUpdated,
        "wiki.deleted" => WikiDeleted,
        "user.created" => UserCreated,
        "user.updated" => UserUpdated,
        "user.deleted" => UserDeleted,
        "auth.login_succeeded" => AuthLoginSucceeded,
        "auth.login_failed" => AuthLoginFailed,
        "auth.token_created" => AuthTokenCreated,
        "auth.token_revoked" => AuthTokenRevoked,
        "webhook.received" => WebhookReceived,
        "webhook.processed" => WebhookProcessed,
        "webhook.failed" => WebhookFailed,
    }
}

fn assert_declared(names: &[(&str, &str)]) {
    let registry = Registry::linked();
    let registered: BTreeSet<_> = registry.events().iter().map(|event| (event.name, event.version)).collect();
    for (name, rust_type) in names {
        assert!(registered.contains(&(*name, 1)), "{name} ({rust_type}) is not registered");
    }
}

/// S0-40: all 31 names of the shop, underscores included.
#[test]
fn the_shops_catalogue_can_be_declared() {
    assert_eq!(shop::NAMES.len(), 31);
    assert_declared(shop::NAMES);
}

/// S1-14, S1-16: all 50 names of the project tracker, each a type of its own.
#[test]
fn the_project_trackers_catalogue_can_be_declared() {
    assert_eq!(projects::NAMES.len(), 50);
    assert_declared(projects::NAMES);
}

/// S0-40: the stored name is said, not derived: a renamed type keeps it.
#[test]
fn the_stored_name_is_independent_of_the_type() {
    #[outbox::event("stock.moved")]
    struct RenamedSince;
    assert_eq!(<RenamedSince as Message>::NAME, "stock.moved");
}
